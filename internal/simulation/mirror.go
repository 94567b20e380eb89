package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"heliograph.example/deltafifo"
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
	// StaleStart, Minimum and RelistBudget are options of its reflector.
	StaleStart   bool   `json:"staleStart,omitempty"`
	Minimum      string `json:"minimum,omitempty"`
	RelistBudget int    `json:"relistBudget,omitempty"`
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
	// poisoned is set while it cannot use poisonous objects.
	poisoned atomic.Bool

	run     func(ctx context.Context) error
	handle  func(h *handler) error
	entries func() map[types.NamespacedName]State
	entry   func(key types.NamespacedName) State
	indexes func() error
	pin     func() *pinned
	version func() string
	status  func() reflector.Status
	broken  func() []reflector.BrokenObject

	handlers []*handler
	pins     []*pinned
	// cancel ends the run under way; nil if there is none. ended has its error.
	cancel context.CancelFunc
	ended  chan error
}

// newMirror makes an informer that reads a server, in a group, which may be nil.
func newMirror(spec MirrorSpec, w *world, group *reflector.Group) (*mirror, error) {
	m := bareMirror(spec, w.truth)
	switch spec.Form {
	case formTyped:
		return m, readServer[*corev1.ConfigMap](m, w.config(), group)
	case formUnstructured:
		return m, readServer[*unstructured.Unstructured](m, w.config(), group)
	case formMetadata:
		return m, readServer[*metav1.PartialObjectMetadata](m, w.config(), group)
	}
	return nil, fmt.Errorf("an informer of unknown form %q", spec.Form)
}

func readServer[T reflector.Object](m *mirror, config *rest.Config, group *reflector.Group) error {
	spec := m.spec
	if !spec.Transform {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return spoiler{next, &m.poisoned} })
	}
	client, err := coreClient(config, spec.Name)
	if err != nil {
		return err
	}
	opts := reflector.SourceOptions{Namespace: spec.Namespace}
	if spec.Colour != "" {
		opts.LabelSelector = colourLabel + "=" + spec.Colour
	}
	source, err := reflector.NewRESTSource[T](client.RESTClient(), resource, opts)
	if err != nil {
		return err
	}
	return readFrom(m, reflector.Source[T](source), group)
}

// bareMirror lacks the informer.
func bareMirror(spec MirrorSpec, truth *Truth) *mirror {
	m := &mirror{spec: spec, record: newRecord(spec, truth.now()), view: view{truth, spec.Namespace, spec.Colour}}
	m.gaps = newGaps(m.view)
	m.keeper = newKeeper(m.gaps, spec, truth.now())
	return m
}

// readFrom gives the mirror an informer that reads any source.
func readFrom[T reflector.Object](m *mirror, source reflector.Source[T], group *reflector.Group) error {
	spec := m.spec
	opts := informer.Options[T]{
		Name:          spec.Name,
		Indexes:       indexes[T](),
		OnObjectError: func(*informer.ObjectError) {},
		Reflector: reflector.Options[T]{
			PageSize: spec.PageSize, WatchTimeout: spec.WatchTimeout, Group: group,
			StaleStart: spec.StaleStart, MinimumResourceVersion: spec.Minimum, RelistBudget: spec.RelistBudget,
			Backoff: wait.Backoff{Duration: spec.Backoff, Factor: 2, Cap: 30 * time.Second},
		},
	}
	if spec.Paged {
		opts.Reflector.Streaming = reflector.StreamingNever
	}
	if spec.Transform {
		opts.Transform = func(obj T) (T, error) {
			if s := stateOf(obj); m.poisoned.Load() && s.poisonous() {
				return eat[T](s)
			}
			return markTransformed(obj), nil
		}
	}
	i, err := informer.New(reflector.Source[T](recorded[T]{source, m.record, m.gaps}), opts)
	if err != nil {
		return err
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
	m.handle = func(h *handler) error { return handleWith(i, h, state) }
	m.entries = func() map[types.NamespacedName]State { return entriesOf(store, state) }
	m.pin = func() *pinned { return pin(store, state) }
	m.entry = func(key types.NamespacedName) State {
		e, ok := store.Entry(key)
		if !ok {
			return State{}
		}
		return state(e.Object)
	}
	m.indexes = func() error { return checkIndexes(store) }
	m.broken = i.Broken
	return nil
}

// transformed is an annotation that shows that an object was transformed.
const transformed = "simulation/transformed"

func markTransformed[T reflector.Object](obj T) T {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[transformed] = "yes"
	obj.SetAnnotations(annotations)
	return obj
}

// poison makes poisonous objects a trouble, or no more.
func (m *mirror) poison(on bool) {
	if m.poisoned.Load() != on {
		m.record.add(Line{Do: linePoison, On: on})
		m.poisoned.Store(on)
	}
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
	for _, h := range m.handlers {
		h.runEnded()
	}
	return nil
}

// release lets go of what a mirror that has stopped and is used no more holds.
func (m *mirror) release() {
	for _, h := range m.handlers {
		h.leave()
	}
	for _, p := range m.pins {
		p.close()
	}
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
	if err := m.handle(h); err != nil {
		return err
	}
	m.handlers = append(m.handlers, h)
	return nil
}

// leave removes a handler by its name.
func (m *mirror) leave(name string) {
	for _, h := range m.handlers {
		if h.spec.Name == name && !h.left {
			m.record.add(Line{Do: lineLeave, Handler: &h.spec})
			h.leave()
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
	f := m.keeper.check(held{m.entries(), m.version(), m.status(), m.broken()})
	if err := m.indexes(); f == nil && err != nil {
		f = &Failure{Check: checkIndex, What: err.Error()}
	}
	for _, p := range m.pins {
		if err := p.check(); f == nil && err != nil {
			f = &Failure{Check: checkSnapshot, What: err.Error()}
		}
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

// look opens a snapshot or closes one, now and then.
func (m *mirror) look(rnd *rand.Rand) {
	switch {
	case rnd.IntN(4) > 0:
	case len(m.pins) < 3 && rnd.IntN(2) == 0:
		m.pins = append(m.pins, m.pin())
	case len(m.pins) > 0:
		n := rnd.IntN(len(m.pins))
		m.pins[n].close()
		m.pins = slices.Delete(m.pins, n, n+1)
	}
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
