package endpoints

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// ErrInvalidResource is wrapped by the error for a [Resource] that cannot
	// be served.
	ErrInvalidResource = errors.New("invalid resource")
	// ErrDuplicateResource is wrapped by the error for a [Resource] that is
	// served already.
	ErrDuplicateResource = errors.New("resource is served already")
	// ErrNotServed is wrapped by the error for a resource that is not served.
	ErrNotServed = errors.New("resource is not served")
	// ErrInvalidConfig is wrapped by the error for an unusable [Config].
	ErrInvalidConfig = errors.New("invalid configuration")
	// errTimedOut is a request whose time has run out.
	errTimedOut = errors.New("request did not complete within the allotted timeout")
)

// statusError makes an error with the three fields that many of kube-apiserver
// have and no details.
func statusError(code int, reason metav1.StatusReason, format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(code),
		Reason:  reason,
		Message: fmt.Sprintf(format, args...),
	}}
}

// genericError makes the error that kube-apiserver makes where it knows only the
// code, or where the router below it has refused a request.
func genericError(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}

func badRequest(format string, args ...any) error {
	return statusError(http.StatusBadRequest, metav1.StatusReasonBadRequest, format, args...)
}

func notAcceptable(accepted []string) error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: %s", strings.Join(accepted, ", "))
}

func unsupportedMediaType(accepted []string) error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: %s", strings.Join(accepted, ", "))
}

// conflictModified is the answer to a write that was made from a state which
// is no longer the newest.
func conflictModified(r *Resource, name string) error {
	return apierrors.NewConflict(r.GroupResource(), name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// toStatus is the Status that a client gets for err. An error that is no
// APIStatus becomes a 500 without a reason, as on kube-apiserver.
func toStatus(err error) *metav1.Status {
	var status metav1.Status
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		status = api.Status()
	} else {
		status = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	}
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// faultError is the answer that a scripted fault gives to a request.
func faultError(code int, retryAfter time.Duration, resource schema.GroupResource) error {
	status := apierrors.NewGenericServerResponse(code, "", resource, "", "injected fault", int(retryAfter/time.Second), false)
	switch code {
	case http.StatusGone:
		status.ErrStatus.Reason = metav1.StatusReasonExpired
	case http.StatusUnprocessableEntity:
		status.ErrStatus.Reason = metav1.StatusReasonInvalid
	}
	status.ErrStatus.Message = fmt.Sprintf("injected fault: %d %s", code, http.StatusText(code))
	return status
}

// sendTimeout answers a request whose time has run out. kube-apiserver does
// that outside all negotiation: plain text whose content is a Status without
// a kind.
func sendTimeout(w *recorder) {
	w.send(http.StatusGatewayTimeout, "text/plain; charset=utf-8", []byte(
		`{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",`+
			`"reason":"Timeout","details":{},"code":504}`))
}
