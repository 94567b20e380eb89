package reflector

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// ErrorClass sorts errors by what they mean for a reflector.
type ErrorClass string

const (
	// ClassNone is the class of no error.
	ClassNone ErrorClass = ""
	// ClassForbidden means that the user may not read the resource (403).
	ClassForbidden ErrorClass = "forbidden"
	// ClassUnauthorized means that the server does not know the user (401).
	ClassUnauthorized ErrorClass = "unauthorized"
	// ClassNotServed means that the server has no such resource (404).
	ClassNotServed ErrorClass = "not served"
	// ClassTooManyRequests means that the server asks for a pause (429).
	ClassTooManyRequests ErrorClass = "too many requests"
	// ClassExpired means that the version asked for is no longer known (410).
	ClassExpired ErrorClass = "expired"
	// ClassTooLarge means that the version asked for is not known yet: the
	// server, or this replica of it, is behind.
	ClassTooLarge ErrorClass = "version too large"
	// ClassUnreachable means that the server, or something on the way to it,
	// did not answer, or stopped in the middle.
	ClassUnreachable ErrorClass = "unreachable"
	// ClassDecode means that an answer could not be read.
	ClassDecode ErrorClass = "decode"
	// ClassStopped means that nothing was wrong with the server: the sink
	// refused, or the context or the stream was ended on this side.
	ClassStopped ErrorClass = "stopped"
	// ClassOther is the class of any other error.
	ClassOther ErrorClass = "other"
)

// watchDecodeCause is the status cause that client-go's watch decoder puts on
// a frame that it cannot read (k8s.io/client-go/rest, newStreamWatcher).
const watchDecodeCause = metav1.CauseType("ClientWatchDecoding")

// classify sorts err. Errors of the server are known by their status, as
// k8s.io/apimachinery/pkg/api/errors does it.
func classify(err error) ErrorClass {
	switch {
	case err == nil:
		return ClassNone
	case isStopped(err):
		return ClassStopped
	case apierrors.IsForbidden(err):
		return ClassForbidden
	case apierrors.IsUnauthorized(err):
		return ClassUnauthorized
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return ClassNotServed
	case apierrors.IsTooManyRequests(err):
		return ClassTooManyRequests
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return ClassExpired
	case isTooLarge(err), isBelow(err):
		return ClassTooLarge
	case errors.Is(err, ErrDecode), runtime.IsNotRegisteredError(err),
		apierrors.HasStatusCause(err, watchDecodeCause):
		return ClassDecode
	case isUnreachable(err):
		return ClassUnreachable
	}
	return ClassOther
}

// isStopped reports whether an end came from this side.
func isStopped(err error) bool {
	var refusal *SinkError
	return errors.As(err, &refusal) || errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled)
}

// isTooLarge reports whether the server is behind the version asked for. Servers
// before 1.19 say so only in the message of a timeout.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	if !apierrors.IsTimeout(err) {
		return false
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && strings.Contains(status.Status().Message, "Too large resource version")
}

// isBelow reports whether err is a MinimumError because of a version that
// compares.
func isBelow(err error) bool {
	var below *MinimumError
	if !errors.As(err, &below) {
		return false
	}
	_, ok := compareVersions(below.Version, below.Minimum)
	return ok
}

// isUnreachable reports whether an answer is missing or cut, rather than an
// answer that says no.
func isUnreachable(err error) bool {
	for _, cause := range []error{
		io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, net.ErrClosed,
		errSilent, errEarly, errOpening, errDeadline, errRenewed, errQuiet, errPage, errShort, errCut,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch status.Status().Code {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
	}
	var network net.Error
	return errors.As(err, &network) || utilnet.IsProbableEOF(err) || utilnet.IsConnectionRefused(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isCut reports whether a stream merely broke off: the server did not say why,
// so nothing speaks against opening the next one.
func isCut(err error) bool {
	var status apierrors.APIStatus
	return isUnreachable(err) && !errors.As(err, &status)
}
