package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/e2e/recorder"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// apiObject is what the informers under test hold.
type apiObject interface {
	comparable
	reflector.Object
}

// subject is an informer under test with its handlers, whatever its type.
type subject interface {
	of() kind
	status() informer.Status
	// late adds a handler in the middle of the changes.
	late() error
	// let lets the slow handler go on by one change, release for good.
	let()
	release()
	// holds reports whether the store holds a version of an object.
	holds(name, version string) error
	// agrees compares the store and the handlers with a LIST.
	agrees(ctx context.Context) error
	// names lists what is stored.
	names() []string
	// judge returns what the handlers were told against the promises.
	judge(h *recorder.History) error
	// counts tells how many changes each handler was told.
	counts() string
}

// informed is the subject for objects of type T.
type informed[T apiObject] struct {
	kind     kind
	scope    informer.Scope
	informer *informer.Informer[T]
	handlers []*handler[T]
	pace     chan struct{}
	diary    *diary
	// list is a LIST by a stock client that reads the same form.
	list func(ctx context.Context) ([]T, error)
}

// handler is one handler of a subject.
type handler[T apiObject] struct {
	name string
	*recorder.Recorder[T]
	filter       func(T) bool
	registration *informer.Registration
}

// newSubject makes the informer for a kind, with three handlers.
func newSubject[T apiObject](t *testing.T, f *informer.Factory, k kind, scope informer.Scope, list func(ctx context.Context) ([]T, error)) *informed[T] {
	t.Helper()
	return tunedSubject(t, f, k, informer.Options[T]{Scope: scope}, list)
}

// tunedSubject is newSubject with options. Their OnTransition is set here.
func tunedSubject[T apiObject](t *testing.T, f *informer.Factory, k kind, options informer.Options[T], list func(ctx context.Context) ([]T, error)) *informed[T] {
	t.Helper()
	diary := &diary{}
	options.Reflector.OnTransition = diary.note
	scope := options.Scope
	i, err := informer.For(t.Context(), f, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the reader of %s did:\n%s", i.Name(), diary)
		}
	})
	s := &informed[T]{kind: k, scope: scope, informer: i, list: list, diary: diary, pace: make(chan struct{}, 1)}
	slowly := func(ctx context.Context, c informer.Change[T]) {
		if c.Initial {
			return
		}
		select {
		case <-s.pace:
		case <-ctx.Done():
		}
	}
	red := func(o T) bool { return o.GetLabels()[colorLabel] == "red" }
	err = errors.Join(
		s.handle("every", recorder.Options[T]{}, informer.HandlerOptions[T]{}),
		s.handle("slow", recorder.Options[T]{Work: slowly}, informer.HandlerOptions[T]{Budget: 64}),
		s.handle("red", recorder.Options[T]{}, informer.HandlerOptions[T]{Filter: red}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *informed[T]) handle(name string, ro recorder.Options[T], ho informer.HandlerOptions[T]) (err error) {
	// An object may leave what a filter or a selector selects, and return.
	ro.Filtered = ho.Filter != nil || s.scope.LabelSelector != ""
	h := &handler[T]{name: name, Recorder: recorder.New(ro), filter: ho.Filter}
	ho.Name = name
	h.registration, err = s.informer.Handle(h, ho)
	s.handlers = append(s.handlers, h)
	return err
}

func (s *informed[T]) of() kind                { return s.kind }
func (s *informed[T]) status() informer.Status { return s.informer.Status() }
func (s *informed[T]) release()                { close(s.pace) }

func (s *informed[T]) late() error {
	return s.handle("late", recorder.Options[T]{}, informer.HandlerOptions[T]{})
}

func (s *informed[T]) let() {
	select {
	case s.pace <- struct{}{}:
	default: // it has not used the last leave yet
	}
}

func (s *informed[T]) names() []string {
	var names []string
	for o := range s.informer.Store().All() {
		names = append(names, o.GetName())
	}
	return names
}

// version is that of an object in the store, empty if it is not there.
func (s *informed[T]) version(name string) string {
	e, _ := s.informer.Store().Entry(types.NamespacedName{Namespace: s.scope.Namespace, Name: name})
	return e.Version
}

func (s *informed[T]) holds(name, version string) error {
	key := types.NamespacedName{Namespace: s.scope.Namespace, Name: name}
	if e, ok := s.informer.Store().Entry(key); !ok || e.Version != version {
		return fmt.Errorf("the store has %s at version %q (%v), not %q; %v", name, e.Version, ok, version, s.informer.Status())
	}
	return nil
}

func (s *informed[T]) agrees(ctx context.Context) error {
	objects, err := s.list(ctx)
	if err != nil {
		return err
	}
	store := make(map[types.NamespacedName]recorder.State)
	for e := range s.informer.Store().Entries() {
		store[e.Key] = recorder.State{UID: e.UID, Version: e.Version}
	}
	errs := []error{naming("store", recorder.Diff(store, recorder.StateOf(objects)))}
	if errs[0] == nil {
		errs = append(errs, naming("store", s.same(objects)))
	}
	for _, h := range s.handlers {
		want := objects
		if h.filter != nil {
			want = nil
			for _, o := range objects {
				if h.filter(o) {
					want = append(want, o)
				}
			}
		}
		errs = append(errs, naming("handler "+h.name, recorder.Diff(h.State(), recorder.StateOf(want))))
	}
	return naming(s.kind.plural, errors.Join(errs...))
}

// same compares what is in the stored objects with what is in the listed ones.
// Their type is not compared: it is the stock clients' habit to set it in some
// places and not in others.
func (s *informed[T]) same(objects []T) error {
	untyped := func(o T) T {
		o = o.DeepCopyObject().(T)
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return o
	}
	for _, want := range objects {
		got, _ := s.informer.Store().Get(types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()})
		if !equality.Semantic.DeepEqual(untyped(got), untyped(want)) {
			return fmt.Errorf("%s differs within: %+v instead of %+v", want.GetName(), got, want)
		}
	}
	return nil
}

func (s *informed[T]) judge(history *recorder.History) error {
	var errs []error
	for _, h := range s.handlers {
		errs = append(errs, naming("handler "+h.name, h.Err()))
		if history != nil {
			errs = append(errs, naming("handler "+h.name, h.Within(history)))
		}
	}
	st := s.status()
	if st.ObjectErrors != 0 {
		errs = append(errs, fmt.Errorf("%d objects failed, the last: %w", st.ObjectErrors, st.LastObjectError))
	}
	return naming(s.kind.plural, errors.Join(errs...))
}

func (s *informed[T]) counts() string {
	text := s.kind.plural + " told"
	for _, h := range s.handlers {
		text += fmt.Sprintf(" %s %d", h.name, h.Len())
	}
	return text
}

// diary keeps what a reader did, for the message of a failed test.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(s reflector.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%s %s, version %s, tries %d: %s",
		s.Taken.Format("15:04:05.000"), s.State, s.Version, s.Tries, s.Reason))
	if s.LastError != nil {
		d.lines = append(d.lines, fmt.Sprintf("             the last error: %v", s.LastError))
	}
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// naming says what an error is about. It leaves nil alone.
func naming(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
