package reflector

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/watchlist"
)

// SourceOptions narrow a source. The zero value takes the resource in all
// namespaces.
type SourceOptions struct {
	// Namespace is the only one to read; empty means all, and is right for
	// resources without a namespace.
	Namespace string
	// LabelSelector and FieldSelector narrow the objects, in the notation of
	// k8s.io/apimachinery/pkg/labels and fields. Empty ones take all.
	LabelSelector string
	FieldSelector string
	// Tweak, if not nil, may change the options of each request once they are
	// complete, as the function of that name does that client-go's factories take.
	// What it does to resource versions, limits and the like is done to the reader,
	// which is right for selectors and timeouts at most. It is called by several
	// goroutines.
	Tweak func(*metav1.ListOptions)
	// Scheme knows the kinds of T and of its list, for a NewRESTSource of
	// typed objects. nil means client-go's scheme, which has all built-in
	// types. The other sources leave types to their clients.
	Scheme *runtime.Scheme
	// UnmarshalJSON decodes one typed object of a NewRESTSource from JSON, in
	// place of k8s.io/apimachinery/pkg/util/json.Unmarshal, which nil means. It
	// is to take and to make what that does, keep nothing of raw, and be safe
	// for concurrent use. The module heliograph.example/fastjson has one.
	UnmarshalJSON func(raw []byte, into any) error
}

// check returns an error that wraps ErrInvalid if resource or o cannot be used.
func (o SourceOptions) check(resource string) error {
	if problems := rest.IsValidPathSegmentName(resource); resource == "" || len(problems) > 0 {
		return fmt.Errorf("%w resource %q: must be a name %v", ErrInvalid, resource, problems)
	}
	if problems := rest.IsValidPathSegmentName(o.Namespace); len(problems) > 0 {
		return fmt.Errorf("%w namespace %q: %v", ErrInvalid, o.Namespace, problems)
	}
	if _, err := labels.Parse(o.LabelSelector); err != nil {
		return fmt.Errorf("%w label selector %q for %s: %w", ErrInvalid, o.LabelSelector, resource, err)
	}
	if _, err := fields.ParseSelector(o.FieldSelector); err != nil {
		return fmt.Errorf("%w field selector %q for %s: %w", ErrInvalid, o.FieldSelector, resource, err)
	}
	return nil
}

// apply puts the selectors into the options of one request.
func (o SourceOptions) apply(opts *metav1.ListOptions) {
	opts.LabelSelector, opts.FieldSelector = o.LabelSelector, o.FieldSelector
	if o.Tweak != nil {
		o.Tweak(opts)
	}
}

// name is what errors call the collection.
func (o SourceOptions) name(resource string) string {
	if o.Namespace == "" {
		return resource
	}
	return resource + " in " + o.Namespace
}

// clientSource is every Source over a client of client-go: they differ in how
// they ask, not in what they do with the answer.
type clientSource[T any] struct {
	name  string
	list  func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	// named lists the one object under key, if the client can be asked so.
	named func(ctx context.Context, key types.NamespacedName) (runtime.Object, error)
	// fake is set if the client says that it is one of client-go's fakes.
	fake bool
	// held is what the one reader of a source that skips has (see Skipper).
	held func(types.NamespacedName) (types.UID, string, bool)
}

// isFake reports whether client is a fake: in client-go only those, and what is
// built over them, say that they do not support the streaming list.
func isFake(client any) bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(client)
}

// Streamless reports true for client-go's fakes, and where client-go's feature
// gate WatchListClient is off.
func (s *clientSource[T]) Streamless() bool {
	return s.fake || !features.FeatureGates().Enabled(features.WatchListClient)
}

// Unversioned reports true for client-go's fakes: they keep whatever resource
// version a test wrote into an object, and count their own beside it.
func (s *clientSource[T]) Unversioned() bool { return s.fake }

// List reads one page.
func (s *clientSource[T]) List(ctx context.Context, opts metav1.ListOptions, each func(Item[T]) error) (Page, error) {
	list, err := s.list(ctx, opts)
	if err != nil {
		return Page{}, err
	}
	if isNil(list) {
		return Page{}, fmt.Errorf("%s: %w: the client returned no list", s.name, ErrDecode)
	}
	if isTable(list) {
		return Page{}, fmt.Errorf("%s: %w: the server sent a table", s.name, ErrDecode)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return Page{}, fmt.Errorf("%s: %w: %T is not a list: %w", s.name, ErrDecode, list, err)
	}
	if err := s.items(list, each); err != nil {
		return Page{}, err
	}
	return Page{
		Version:   accessor.GetResourceVersion(),
		Continue:  accessor.GetContinue(),
		Remaining: accessor.GetRemainingItemCount(),
	}, nil
}

// Watch opens a watch.
func (s *clientSource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	w, err := s.watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	if isNil(w) {
		return nil, fmt.Errorf("%s: %w: the client returned no watch", s.name, ErrDecode)
	}
	return newClientStream(ctx, s, w), nil
}

var errNoName = errors.New("it has no name")

// item takes the identity out of obj. What cannot be used becomes the item's
// error.
func (s *clientSource[T]) item(obj runtime.Object) Item[T] {
	var it Item[T]
	if isNil(obj) {
		it.Err = objectError(s.name, it, StageDecode, errors.New("there is no object"))
		return it
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		it.Err = objectError(s.name, it, StageDecode, fmt.Errorf("%T: %w", obj, err))
		return it
	}
	it.Key = types.NamespacedName{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	it.UID, it.Version = accessor.GetUID(), accessor.GetResourceVersion()
	if it.Key.Name == "" {
		it.Err = objectError(s.name, it, StageDecode, errNoName)
		return it
	}
	typed, ok := obj.(T)
	if !ok {
		it.Err = objectError(s.name, it, StageType, fmt.Errorf("got %T, want %v", obj, reflect.TypeFor[T]()))
		return it
	}
	it.Object = typed
	return it
}

func objectError[T any](resource string, it Item[T], stage Stage, err error) error {
	return &ObjectError{Resource: resource, Key: it.Key, UID: it.UID, Version: it.Version, Stage: stage, Err: inBrief(err)}
}

// isTable reports whether list is what the server prints for people.
func isTable(list runtime.Object) bool {
	if _, ok := list.(*metav1.Table); ok {
		return true
	}
	gvk := list.GetObjectKind().GroupVersionKind()
	return gvk.Kind == "Table" && gvk.Group == metav1.GroupName
}

// isNil reports whether v is nil, or a nil pointer and the like in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return value.IsNil()
	}
	return false
}
