package storage

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The texts that kube-apiserver 1.37 gives with 410 Gone for a list.
const (
	exactTooOld    = "The resourceVersion for the provided list is too old."
	continueTooOld = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response " +
		"to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent " +
		"list - objects that were created, modified, or deleted between the time the first chunk was returned and " +
		"now may show up in the list."
)

// ErrInvalidOptions is wrapped by the error of [NewStore] for options that
// cannot work.
var ErrInvalidOptions = errors.New("invalid store options")

// NewTooLargeError is the 504 that answers a request for a state that does not
// exist yet. Clients know it by its cause, ResourceVersionTooLarge. A
// retryAfter of 0 seconds sets no Retry-After.
func NewTooLargeError(requested, current uint64, retryAfter int) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", requested, current), retryAfter)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// NewTooOldError is the 410 that ends a watch which cannot be told everything
// after the requested version; oldest is the first one that could.
func NewTooOldError(requested, oldest uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", requested, oldest))
}

// newExactExpiredError is the 410 for a list at a compacted version.
func newExactExpiredError() error { return apierrors.NewResourceExpired(exactTooOld) }

// newContinueExpiredError is the 410 for a page of a compacted version. It
// carries a token that goes on from the same key in the newest state.
func newContinueExpiredError(token string) error {
	err := apierrors.NewResourceExpired(continueTooOld)
	err.ErrStatus.ListMeta.Continue = token
	return err
}

// ParseVersion parses the resource version of a get or a watch. Empty is 0.
// Like kube-apiserver, it refuses garbage with a 500 that has no reason.
func ParseVersion(version string) (uint64, error) {
	v, err := parseVersion(version)
	if err != nil {
		return 0, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusInternalServerError,
			Message: err.Error(),
		}}
	}
	return v, nil
}

// parseListVersion is ParseVersion for lists, where garbage is a 400.
func parseListVersion(version string) (uint64, error) {
	v, err := parseVersion(version)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	return v, nil
}

func parseVersion(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", version, err)
	}
	return v, nil
}

// formatVersion is the inverse of ParseVersion.
func formatVersion(version uint64) string { return strconv.FormatUint(version, 10) }
