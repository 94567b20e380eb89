package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"heliograph.example/deltafifo"
	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// The forms in which an informer can read objects.
const (
	formTyped        = "typed"
	formUnstructured = "unstructured"
	formMetadata     = "metadata"
)

var bookmark = deltafifo.Bookmark.String()

// MirrorSpec describes an informer under test. Its name is the user agent of its
// client as well.
type MirrorSpec struct {
	Name string `json:"name"`
	Form string `json:"form"`
	// Namespace and Colour narrow what it reads; empty is any.
	Namespace string `json:"namespace,omitempty"`
	Colour    string `json:"colour,omitempty"`
	// Paged keeps it from streaming. PageSize is that of its lists.
	Paged    bool  `json:"paged,omitempty"`
	PageSize int64 `json:"pageSize,omitempty"`
	// Transform makes it mark every object.
	Transform bool `json:"transform,omitempty"`
	// WatchTimeout is what it asks for, and Backoff its shortest pause. Both
	// are chance in an informer that is not told.
	WatchTimeout time.Duration `json:"watchTimeout"`
	Backoff      time.Duration `json:"backoff"`
}

// mirror is an informer whatever the type of its objects.
type mirror struct {
	spec   MirrorSpec
	record *Record
	view   view
	gaps   *gaps
	keeper *keeper

	run     func(ctx context.Context) error
	handle  func(h *handler) (*informer.Registration, error)
	entries func() map[types.NamespacedName]State
	entry   func(key types.NamespacedName) State
	indexes func() error
	version func() string
	status  func() reflector.Status

	handlers []*handler
	// cancel ends the run under way; nil if there is none. ended has its error.
	cancel context.CancelFunc
	ended  chan error
}

// newMirror makes an informer that reads the server that config leads to.
func newMirror(spec MirrorSpec, config *rest.Config, truth *Truth, record *Record) (*mirror, error) {
	switch spec.Form {
	case formTyped:
		return newMirrorOf[*corev1.ConfigMap](spec, config, truth, record)
	case formUnstructured:
		return newMirrorOf[*unstructured.Unstructured](spec, config, truth, record)
	case formMetadata:
		return newMirrorOf[*metav1.PartialObjectMetadata](spec, config, truth, record)
	}
	return nil, fmt.Errorf("an informer of unknown form %q", spec.Form)
}

func newMirrorOf[T reflector.Object](spec MirrorSpec, config *rest.Config, truth *Truth, record *Record) (*mirror, error) {
	client, err := coreClient(config, spec.Name)
	if err != nil {
		return nil, err
	}
	opts := reflector.SourceOptions{Namespace: spec.Namespace}
	if spec.Colour != "" {
		opts.LabelSelector = colourLabel + "=" + spec.Colour
	}
	source, err := reflector.NewRESTSource[T](client.RESTClient(), resource, opts)
	if err != nil {
		return nil, err
	}
	return mirrorOver(spec, reflector.Source[T](source), truth, record)
}

// mirrorOver makes an informer that reads any source.
func mirrorOver[T reflector.Object](spec MirrorSpec, source reflector.Source[T], truth *Truth, record *Record) (*mirror, error) {
	opts := informer.Options[T]{
		Name:          spec.Name,
		Indexes:       indexes[T](),
		OnObjectError: func(*informer.ObjectError) {},
		Reflector: reflector.Options[T]{
			PageSize: spec.PageSize, WatchTimeout: spec.WatchTimeout,
			Backoff: wait.Backoff{Duration: spec.Backoff, Factor: 2, Cap: 30 * time.Second},
		},
	}
	if spec.Paged {
		opts.Reflector.Streaming = reflector.StreamingNever
	}
	if spec.Transform {
		opts.Transform = markTransformed[T]
	}
	m := &mirror{spec: spec, record: record, view: view{truth, spec.Namespace, spec.Colour}}
	m.gaps = newGaps(m.view)
	m.keeper = newKeeper(m.gaps, truth.now())
	i, err := informer.New(reflector.Source[T](recorded[T]{source, record, m.gaps}), opts)
	if err != nil {
		return nil, err
	}
	state := func(obj T) State {
		s := stateOf(obj)
		if spec.Transform && obj.GetAnnotations()[transformed] == "" {
			s.Write += " not transformed"
		}
		return s
	}
	store := i.Store()
	m.run, m.version = i.Run, func() string { return store.Version() }
	m.status = func() reflector.Status { return i.Status().Reader }
	m.handle = func(h *handler) (*informer.Registration, error) { return handleWith(i, h, state) }
	m.entries = func() map[types.NamespacedName]State {
		out := make(map[types.NamespacedName]State)
		for e := range store.Entries() {
			out[e.Key] = state(e.Object)
		}
		return out
	}
	m.entry = func(key types.NamespacedName) State {
		e, ok := store.Entry(key)
		if !ok {
			return State{}
		}
		return state(e.Object)
	}
	m.indexes = func() error { return checkIndexes(store) }
	return m, nil
}

// transformed is an annotation that shows that an object was transformed.
const transformed = "simulation/transformed"

func markTransformed[T reflector.Object](obj T) (T, error) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[transformed] = "yes"
	obj.SetAnnotations(annotations)
	return obj, nil
}

// indexFuncs are the indexes of every informer: one with one value for each
// object, and one with none, one or two.
var indexFuncs = map[string]func(obj metav1.Object) []string{
	"colour": func(obj metav1.Object) []string { return []string{obj.GetLabels()[colourLabel]} },
	"some": func(obj metav1.Object) []string {
		switch colour := obj.GetLabels()[colourLabel]; colour {
		case colours[0]:
			return nil
		case colours[1]:
			return []string{obj.GetNamespace(), colour}
		default:
			return []string{colour}
		}
	},
}

func indexes[T reflector.Object]() indexer.Indexes[T] {
	out := make(indexer.Indexes[T])
	for name, values := range indexFuncs {
		out[name] = indexer.Index[T]{
			Values:  func(obj T, found []string) ([]string, error) { return append(found, values(obj)...), nil },
			Ordered: name == "some",
		}
	}
	return out
}

// checkIndexes compares what indexes list with what their functions say of the
// objects in the store, which nobody writes meanwhile.
func checkIndexes[T reflector.Object](store indexer.Reader[T]) error {
	for name, values := range indexFuncs {
		want := make(map[string][]types.NamespacedName)
		for e := range store.Entries() {
			for _, value := range values(e.Object) {
				want[value] = append(want[value], e.Key)
			}
		}
		listed, err := store.IndexValues(name)
		if err != nil {
			return err
		}
		if len(listed) != len(want) {
			return fmt.Errorf("%s has the values %q, want %v", name, listed, want)
		}
		for value, keys := range want {
			if err := sameKeys(store, name, value, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameKeys[T reflector.Object](store indexer.Reader[T], name, value string, want []types.NamespacedName) error {
	got, err := store.IndexKeys(name, value)
	if err != nil {
		return err
	}
	slices.SortFunc(got, compareKeys)
	slices.SortFunc(want, compareKeys)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s lists %v under %q, want %v", name, got, value, want)
	}
	objects, err := store.ByIndex(name, value)
	if err != nil {
		return err
	}
	if n, err := store.Count(name, value); err != nil || n != len(want) || len(objects) != len(want) {
		return fmt.Errorf("%s counts %d objects under %q (%v) and lists %d, want %d", name, n, value, err, len(objects), len(want))
	}
	for _, obj := range objects {
		held, _ := store.Get(types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		if any(held) != any(obj) {
			return fmt.Errorf("%s lists an object under %q that is not the one of the store", name, value)
		}
	}
	return nil
}

// start runs the informer, if it does not run.
func (m *mirror) start(ctx context.Context) {
	if m.cancel != nil {
		return
	}
	m.record.add(Line{Do: lineStart})
	ctx, m.cancel = context.WithCancel(ctx)
	m.ended = make(chan error, 1)
	go func() { m.ended <- m.run(ctx) }()
}

// stop ends the run and waits for that.
func (m *mirror) stop() *Failure {
	if m.cancel == nil {
		return nil
	}
	m.record.add(Line{Do: lineStop})
	early := m.hasEnded()
	m.cancel()
	m.cancel = nil
	if early != nil {
		return early
	}
	if err := <-m.ended; err != nil {
		return m.failure(checkRun, err.Error())
	}
	return nil
}

// hasEnded tells of a run that has ended by itself.
func (m *mirror) hasEnded() *Failure {
	select {
	case err := <-m.ended:
		m.ended <- err
		return m.failure(checkRun, fmt.Sprint(err))
	default:
		return nil
	}
}

func (m *mirror) failure(check, what string) *Failure {
	return &Failure{Mirror: m.spec.Name, Check: check, What: what}
}

// join registers a handler.
func (m *mirror) join(spec HandlerSpec) error {
	m.record.add(Line{Do: lineJoin, Handler: &spec})
	h := newHandler(spec, m)
	reg, err := m.handle(h)
	if err != nil {
		return err
	}
	h.registration = reg
	m.handlers = append(m.handlers, h)
	return nil
}

// leave removes a handler by its name.
func (m *mirror) leave(name string) {
	for _, h := range m.handlers {
		if h.spec.Name == name && !h.left {
			m.record.add(Line{Do: lineLeave, Handler: &h.spec})
			h.left = true
			h.registration.Remove()
		}
	}
}

// check makes all checks that hold at any time. Nothing may be under way.
func (m *mirror) check() *Failure {
	if m.cancel != nil {
		if f := m.hasEnded(); f != nil {
			return f
		}
	}
	f := m.keeper.check(m.entries(), m.version(), m.status().State)
	if err := m.indexes(); f == nil && err != nil {
		f = &Failure{Check: checkIndex, What: err.Error()}
	}
	for _, h := range m.handlers {
		if f != nil {
			break
		}
		f = h.check()
	}
	if f != nil {
		f.Mirror = m.spec.Name
	}
	return f
}

// lag tells what is not yet as the server has it; empty if all is.
func (m *mirror) lag(want map[types.NamespacedName]State) string {
	if held := m.entries(); !maps.Equal(held, want) {
		return "the store:" + difference(held, want)
	}
	for _, h := range m.handlers {
		if h.left {
			continue
		}
		if got, want := h.follows(), h.wanted(want); !maps.Equal(got, want) {
			return "handler " + h.spec.Name + ":" + difference(got, want)
		}
	}
	return ""
}
