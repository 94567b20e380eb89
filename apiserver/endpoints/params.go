package endpoints

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"heliograph.example/apiserver/storage"
)

// Watches that name no timeout of their own get a random one in this range.
const (
	minWatch = 30 * time.Minute
	maxWatch = 60 * time.Minute
)

// parseListOptions reads and checks the parameters of a list or a watch.
func parseListOptions(query url.Values, watching bool) (*internalversion.ListOptions, error) {
	opts := &internalversion.ListOptions{}
	if err := internalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, opts); err != nil {
		return nil, badRequest("%v", err)
	}
	opts.Watch = watching
	internalversion.SetListOptionsDefaults(opts, true)
	if errs := validation.ValidateListOptions(opts, true); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return opts, nil
}

// selection turns the selectors and the path of a request into what the
// storage is to select.
func (h *Handler) selection(r *Resource, t target, opts *internalversion.ListOptions) (sel storage.Selection, err error) {
	sel = storage.Selection{Namespace: t.namespace, Name: t.name, Labels: opts.LabelSelector, Fields: opts.FieldSelector}
	if h.sharding && opts.ShardSelector != "" {
		if sel.Shard, err = parseShardSelector(opts.ShardSelector); err != nil {
			return sel, err
		}
	}
	if sel.Fields == nil {
		return sel, nil
	}
	if err := r.checkFields(sel.Fields); err != nil {
		return sel, err
	}
	name, exact := sel.Fields.RequiresExactMatch("metadata.name")
	if !exact {
		return sel, nil
	}
	if sel.Name != "" && sel.Name != name {
		return sel, badRequest("fieldSelector metadata.name doesn't match requested name")
	}
	sel.Name = name
	return sel, nil
}

// wantsWatch reads the watch parameter as kube-apiserver does: everything but
// false and 0 is true.
func wantsWatch(query url.Values) bool {
	values, ok := query["watch"]
	if !ok || len(values) == 0 {
		return false
	}
	return values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// wantsStream reports whether a watch asks for a streaming list.
func wantsStream(query url.Values) bool {
	return strings.EqualFold(query.Get("sendInitialEvents"), "true") || query.Get("sendInitialEvents") == "1"
}

// watchTimeout is how long a watch may last.
func watchTimeout(opts *internalversion.ListOptions) time.Duration {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		return time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	return minWatch + rand.N(maxWatch-minWatch)
}

// maxRequest is how long requests other than watches may take.
const maxRequest = 60 * time.Second

// requestTimeout reads the timeout parameter of requests other than watches.
func requestTimeout(query url.Values) (time.Duration, error) {
	value := query.Get("timeout")
	if value == "" {
		return maxRequest, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, badRequest("invalid timeout specified in the request URL - %v", err)
	}
	if d <= 0 || d > maxRequest {
		return maxRequest, nil
	}
	return d, nil
}

// isDryRun reports whether validated dryRun values ask for a dry run.
func isDryRun(values []string) bool { return slices.Contains(values, metav1.DryRunAll) }

// parseOptions reads the options of a create, an update or a patch from the
// query into opts, and checks them with validate.
func parseOptions(query url.Values, kind string, opts runtime.Object, validate func() field.ErrorList) error {
	if err := internalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, opts); err != nil {
		return badRequest("%v", err)
	}
	if errs := validate(); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return nil
}
