package apiserver

import "errors"

// ErrStopped is what a server answers with, as the text of a 500, to a request
// that needs something new after [Server.Stop].
var ErrStopped = errors.New("the API server has stopped")
