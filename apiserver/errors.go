package apiserver

import "errors"

var (
	// ErrStopped is what a server answers with, as the text of a 500, to a
	// request that needs something new after [Server.Stop].
	ErrStopped = errors.New("the API server has stopped")
	// ErrInvalidCRD is wrapped by the errors of [ResourcesFromCRD].
	ErrInvalidCRD = errors.New("invalid custom resource definition")
)
