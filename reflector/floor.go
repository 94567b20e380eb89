package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// MinimumError tells that a server has answered with a state that may not be
// published, because of Options.MinimumResourceVersion. It is retried.
type MinimumError struct {
	// Resource names the collection.
	Resource string
	// Minimum is what was demanded, and Version what the server is at.
	Minimum, Version string
}

// Error names the resource and both versions.
func (e *MinimumError) Error() string {
	if _, ok := compareVersions(e.Version, e.Minimum); !ok {
		return fmt.Sprintf("%s: version %q of the server cannot be compared with the minimum %q", e.Resource, e.Version, e.Minimum)
	}
	return fmt.Sprintf("%s: the server is at version %s, before the minimum %s", e.Resource, e.Version, e.Minimum)
}

// demand asks for a state that is new enough: for the newest, unless it is the
// first one and may be stale.
func (r *Reflector[T]) demand(opts *metav1.ListOptions) {
	if !r.opts.StaleStart || r.published {
		return
	}
	if opts.ResourceVersion = "0"; r.opts.MinimumResourceVersion != "" {
		opts.ResourceVersion = r.opts.MinimumResourceVersion
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
}

// unfit looks at the version of a complete state, and at the highest one of which
// it has something, and reports where they lead if it may not be published.
func (r *Reflector[T]) unfit(ctx context.Context, version, newest string) (transition, bool) {
	if minimum := r.opts.MinimumResourceVersion; minimum != "" && !r.published {
		if order, ok := compareVersions(version, minimum); !ok || order < 0 {
			err := &MinimumError{Resource: r.opts.Name, Minimum: minimum, Version: version}
			t := r.failed(Starting, "the state is too old", err)
			t.restart = true
			return t, true
		}
	}
	return r.wentBack(ctx, newest)
}

// wentBack looks at the version of a complete state. Reading the newest state,
// as the reflector does, no server answers with less than it gave before, unless
// it was restored from a backup. Then equal versions no longer mean equal
// objects, so the state is read once more, without comparing. If it is still
// older, the server has the last word: the sink sees a Replaced with a lower
// version, and from then on versions count anew.
func (r *Reflector[T]) wentBack(ctx context.Context, version string) (transition, bool) {
	if order, ok := compareVersions(version, r.highest()); r.doubt || !ok || order >= 0 {
		return transition{}, false
	}
	return r.failed(Starting, r.distrust(ctx, version), errWentBack), true
}

// distrust has the state read without comparing, because the server answers with
// a version that is lower than what it gave before. It returns the reason.
func (r *Reflector[T]) distrust(ctx context.Context, version string) string {
	reason := fmt.Sprintf("the server went back from version %s to %s", r.highest(), version)
	klog.FromContext(ctx).Info("The server went back in time", "resource", r.opts.Name, "from", r.highest(), "to", version)
	r.doubt, r.mustList, r.why = true, true, reason
	return reason
}
