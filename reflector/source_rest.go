package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"heliograph.example/internal/wire"
)

// NewRESTSource returns a source of the resource, such as "pods", over a REST
// client of its group and version, such as clientset.CoreV1().RESTClient(). T is
// one of:
//
//   - a pointer to a type that SourceOptions.Scheme knows. The config of the
//     client decides between JSON and protobuf.
//   - *unstructured.Unstructured, which travels as JSON whatever the config says.
//   - *metav1.PartialObjectMetadata: the server leaves spec and status out.
//
// The answers are split while they are read, and decoded one object at a time.
// Objects come as those of client-go's typed, dynamic and metadata clients do,
// without conversion and without defaults. One that cannot be decoded, or is of
// another type than T, comes as an item with an error, and the next one follows.
// Answers in CBOR are refused with ErrDecode.
//
// For any other T, such as an interface, the client itself decodes each answer as
// a whole, with the scheme of its config.
//
// The client's limit of the rate of requests holds for lists, and as everywhere
// in client-go not for watches. Its own retries are off for these requests: one
// back-off, that of the reflector, honours Retry-After and shows in its status.
//
// A nil client, an empty resource, a bad namespace or a bad selector is an error
// that wraps ErrInvalid.
func NewRESTSource[T Object](client rest.Interface, resource string, opts SourceOptions) (Source[T], error) {
	return newRESTSource[T](reflect.TypeFor[T](), client, resource, opts)
}

// NewRESTSourceOf is [NewRESTSource] for a type that is known when the program runs:
// that of example, a pointer to a type that SourceOptions.Scheme knows. Example itself
// may be a nil pointer. Any other type is an error that wraps ErrInvalid;
// so is unstructured.Unstructured, for which there is NewRESTSource.
func NewRESTSourceOf(client rest.Interface, resource string, example Object, opts SourceOptions) (Source[Object], error) {
	object := reflect.TypeOf(example)
	if object == nil || object.Kind() != reflect.Pointer || object.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%w example for %q: %v is not a pointer to a struct", ErrInvalid, resource, object)
	}
	switch example.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return nil, fmt.Errorf("%w example for %q: %v has a NewRESTSource of its own", ErrInvalid, resource, object)
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if _, _, err := opts.Scheme.ObjectKinds(reflect.New(object.Elem()).Interface().(Object)); err != nil {
		return nil, fmt.Errorf("%w example for %q: %w", ErrInvalid, resource, err)
	}
	return newRESTSource[Object](object, client, resource, opts)
}

// newRESTSource makes a source of objects of one type, which is T or a type that is
// a T.
func newRESTSource[T Object](object reflect.Type, client rest.Interface, resource string, opts SourceOptions) (Source[T], error) {
	if isNil(client) {
		return nil, fmt.Errorf("%w REST client for %q: it is nil", ErrInvalid, resource)
	}
	if err := opts.check(resource); err != nil {
		return nil, err
	}
	known := opts.Scheme
	if known == nil {
		known = scheme.Scheme
	}
	asks := restRequests{client: client, resource: resource, opts: opts}
	codec := newCodec[T](object, known, opts.UnmarshalJSON)
	if codec == nil {
		return wholeSource[T](asks), nil
	}
	return &restSource[T]{name: opts.name(resource), asks: asks, codec: codec, fake: isFake(client)}, nil
}

// restRequests makes the requests of a source.
type restRequests struct {
	client   rest.Interface
	resource string
	opts     SourceOptions
}

// in makes a request in one namespace, or in all if it is empty.
func (r restRequests) in(namespace string, list metav1.ListOptions) *rest.Request {
	return r.client.Get().
		NamespaceIfScoped(namespace, namespace != "").
		Resource(r.resource).
		VersionedParams(&list, metav1.ParameterCodec).
		MaxRetries(0)
}

// list makes the request of a page, or of a watch.
func (r restRequests) list(list metav1.ListOptions) *rest.Request {
	r.opts.apply(&list)
	return r.in(r.opts.Namespace, list)
}

// named makes the request for one object.
func (r restRequests) named(key types.NamespacedName) *rest.Request {
	return r.in(key.Namespace, r.opts.named(key))
}

// wholeSource lets the client decode each answer as a whole.
func wholeSource[T any](asks restRequests) Source[T] {
	name := asks.opts.name(asks.resource)
	read := func(ctx context.Context, request *rest.Request) (runtime.Object, error) {
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return nil, err
		}
		obj, err := result.Get()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, ErrDecode, err)
		}
		return obj, nil
	}
	return &clientSource[T]{
		name: name,
		list: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			return read(ctx, asks.list(list))
		},
		watch: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			return asks.list(list).Watch(ctx)
		},
		named: func(ctx context.Context, key types.NamespacedName) (runtime.Object, error) {
			return read(ctx, asks.named(key))
		},
		fake: isFake(asks.client),
	}
}

// restSource is the Source that splits and decodes for itself.
type restSource[T Object] struct {
	name  string
	asks  restRequests
	codec *codec[T]
	fake  bool
	skip  *skip // nil if everything is decoded
	held  func(types.NamespacedName) (T, bool)
}

// Streamless reports true where client-go's feature gate WatchListClient is off,
// and for a client that says, as fakes do, that it cannot.
func (s *restSource[T]) Streamless() bool {
	return s.fake || !features.FeatureGates().Enabled(features.WatchListClient)
}

// Unversioned reports true for a client that says that it is a fake.
func (s *restSource[T]) Unversioned() bool { return s.fake }

// Shaped returns a source whose objects have a shape.
func (s *restSource[T]) Shaped(shape Shape) (Source[T], error) {
	decoders, err := newDecodersOf[T](s.codec.object, shape, s.codec.unmarshal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	shaped, codec := *s, *s.codec
	codec.decoders = decoders
	shaped.codec = &codec
	return &shaped, nil
}

// sharing tells of the tables behind the objects.
func (s *restSource[T]) sharing() SharingStats { return s.codec.decoders.shared.stats() }

// Skipping returns a source that does not decode what its reader has.
func (s *restSource[T]) Skipping(held func(types.NamespacedName) (types.UID, string, bool)) Source[T] {
	skipping := *s
	skipping.skip = &skip{held: held}
	return &skipping
}

// Following returns a source that decodes what a watch brings by what held has.
func (s *restSource[T]) Following(held func(types.NamespacedName) (T, bool)) Source[T] {
	following := *s
	following.held = held
	return &following
}

// List reads one page.
func (s *restSource[T]) List(ctx context.Context, opts metav1.ListOptions, each func(Item[T]) error) (Page, error) {
	return s.read(ctx, s.asks.list(opts), each)
}

// Get reads one object as a list of one.
func (s *restSource[T]) Get(ctx context.Context, key types.NamespacedName) (Item[T], error) {
	return find(s.name, key, func(each func(Item[T]) error) (Page, error) {
		return s.read(ctx, s.asks.named(key), each)
	})
}

// Watch opens a watch.
func (s *restSource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	request := s.asks.list(opts).Throttle(nil)
	if s.codec.accept != "" {
		request.SetHeader("Accept", s.codec.accept)
	}
	body, err := openBody(ctx, request)
	if err != nil {
		return nil, err
	}
	s.codec.decoders.shared.quiet()
	return &restStream[T]{source: s, ctx: ctx, body: body, frames: wire.NewFrames(body), initial: opts.SendInitialEvents != nil && *opts.SendInitialEvents}, nil
}

// item makes an item of the bytes of one object. refusal is an error that is
// known before.
func (s *restSource[T]) item(e wire.Encoding, decode decode[T], raw wire.Item, stage Stage, refusal error) Item[T] {
	var it Item[T]
	var obj T
	err := raw.Err
	if err != nil {
		stage = StageDecode
	} else if err = refusal; err == nil {
		stage = StageDecode
		obj, err = decode(raw.Raw)
	}
	if err != nil {
		id := wire.Identify(e, raw.Raw)
		it.Key = types.NamespacedName{Namespace: string(id.Namespace), Name: string(id.Name)}
		it.UID, it.Version = types.UID(id.UID), string(id.ResourceVersion)
		it.Err = objectError(s.name, it, stage, err)
		return it
	}
	it.Key = types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	it.UID, it.Version = obj.GetUID(), obj.GetResourceVersion()
	if it.Key.Name == "" {
		it.Err = objectError(s.name, it, StageDecode, errNoName)
		return it
	}
	it.Object = obj
	return it
}

// failed says what an error from the middle of an answer means.
func (s *restSource[T]) failed(ctx context.Context, err error) error {
	var broken *wire.SyntaxError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &broken):
		return fmt.Errorf("%s: %w: %w", s.name, ErrDecode, err)
	}
	return fmt.Errorf("%s: %w: %w", s.name, errCut, err)
}

// body is the body of an answer. It ends with its context, and tells the trace in
// it what was read.
type body struct {
	stream io.ReadCloser
	told   func(n int)
	unhook func() bool
	closed sync.Once
}

// openBody makes a request and returns the answer, if the server does not refuse.
func openBody(ctx context.Context, request *rest.Request) (*body, error) {
	stream, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	b := &body{stream: stream, told: SourceTraceFrom(ctx).Read}
	// The transport should see to it. One of the user's may not.
	b.unhook = context.AfterFunc(ctx, b.end)
	return b, nil
}

// Read reads from the answer.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if n > 0 && b.told != nil {
		b.told(n)
	}
	return n, err
}

// close ends the answer. What reads from it returns.
func (b *body) close() {
	b.unhook()
	b.end()
}

// end closes the answer. What was read is there, so no error can matter.
func (b *body) end() { b.closed.Do(func() { _ = b.stream.Close() }) }
