package fault

import "errors"

// ErrInvalid is wrapped by every error of [Script.Add].
var ErrInvalid = errors.New("invalid fault")
