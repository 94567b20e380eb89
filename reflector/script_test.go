package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// object is what the tests read.
type object = *metav1.PartialObjectMetadata

// obj is an object that is named, identified and dated: its key is ns/name.
func obj(name, uid, version string) Item[object] {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: version,
	}}
	return Item[object]{Key: key(name), UID: o.UID, Version: version, Object: o}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func event(t deltafifo.Type, name, uid, version string) Event[object] {
	return Event[object]{Type: t, Item: obj(name, uid, version)}
}

func bookmark(version string) Event[object] {
	return Event[object]{Type: deltafifo.Bookmark, Item: Item[object]{Version: version}}
}

// end is the bookmark that ends the initial events.
func end(version string) Event[object] {
	e := bookmark(version)
	e.InitialEventsEnd = true
	return e
}

// act is one thing that a scripted stream does, some time after the one before:
// it delivers events, tells of bytes, or ends with an error.
type act struct {
	after  time.Duration
	events []Event[object]
	bytes  int
	err    error
}

func send(events ...Event[object]) act { return act{events: events} }
func fail(err error) act               { return act{err: err} }
func eof() act                         { return act{err: io.EOF} }
func read(bytes int) act               { return act{bytes: bytes} }
func (a act) wait(d time.Duration) act { a.after = d; return a }

// scriptedStream plays acts and then stays open.
type scriptedStream struct {
	ctx  context.Context
	acts []act
	once sync.Once
	done chan struct{}
}

func (s *scriptedStream) Next() ([]Event[object], error) {
	for {
		bytes, events, err := s.act()
		if bytes == 0 {
			return events, err
		}
		SourceTraceFrom(s.ctx).Read(bytes)
	}
}

func (s *scriptedStream) act() (int, []Event[object], error) {
	timer := make(<-chan time.Time)
	var a act
	if len(s.acts) > 0 {
		a, s.acts = s.acts[0], s.acts[1:]
		timer = time.After(a.after)
	}
	select {
	case <-timer:
		return a.bytes, a.events, a.err
	case <-s.ctx.Done():
		return 0, nil, s.ctx.Err()
	case <-s.done:
		return 0, nil, ErrStopped
	}
}

func (s *scriptedStream) Stop() { s.once.Do(func() { close(s.done) }) }

// request is what a scripted server was asked, and when.
type request struct {
	verb string // LIST, WATCH, STREAM or PROOF
	opts metav1.ListOptions
	at   time.Duration
}

func (r request) String() string {
	s := r.verb + "(" + r.opts.ResourceVersion + ")"
	if r.opts.Continue != "" {
		s = r.verb + "(continue " + r.opts.Continue + ")"
	}
	return s
}

// script is a Source that answers as its functions say. n counts the requests
// of that verb from 0. A nil function refuses: lists as not found, streaming
// lists as invalid; a watch stays open and silent.
type script struct {
	onList   func(n int, opts metav1.ListOptions) ([]Item[object], Page, error)
	onStream func(n int, opts metav1.ListOptions) ([]act, error)
	onWatch  func(n int, opts metav1.ListOptions) ([]act, error)
	// onGet answers for one object; nil is a source that cannot.
	onGet func(n int, key types.NamespacedName) (Item[object], error)
	// onProof answers lists of one object; nil means with the version of the
	// last list.
	onProof func(n int) (version string, err error)
	// hang makes a verb wait for its context.
	hang map[string]bool
	// trickle, if not nil, is called by each list before it is answered, with
	// its context.
	trickle func(ctx context.Context)

	mu       sync.Mutex
	began    time.Time
	requests []request
}

func (s *script) note(verb string, opts metav1.ListOptions) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	for _, r := range s.requests {
		if r.verb == verb {
			n++
		}
	}
	s.requests = append(s.requests, request{verb, opts, time.Since(s.began)})
	return n
}

// asked returns the requests of the verbs so far; of all without any.
func (s *script) asked(verbs ...string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []request
	for _, r := range s.requests {
		match := len(verbs) == 0
		for _, v := range verbs {
			match = match || v == r.verb
		}
		if match {
			out = append(out, r)
		}
	}
	return out
}

func (s *script) List(ctx context.Context, opts metav1.ListOptions, each func(Item[object]) error) (Page, error) {
	if opts.Limit == 1 {
		return s.proof(ctx, opts)
	}
	n := s.note("LIST", opts)
	if s.hang["LIST"] {
		<-ctx.Done()
		return Page{}, ctx.Err()
	}
	if s.onList == nil {
		return Page{}, status(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	if s.trickle != nil {
		s.trickle(ctx)
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
	}
	items, page, err := s.onList(n, opts)
	if err != nil {
		return Page{}, err
	}
	for _, it := range items {
		if err := each(it); err != nil {
			return Page{}, err
		}
	}
	return page, nil
}

func (s *script) proof(ctx context.Context, opts metav1.ListOptions) (Page, error) {
	n := s.note("PROOF", opts)
	if s.hang["PROOF"] {
		<-ctx.Done()
		return Page{}, ctx.Err()
	}
	if s.onProof == nil {
		_, page, err := s.onList(max(len(s.asked("LIST"))-1, 0), metav1.ListOptions{})
		return page, err
	}
	version, err := s.onProof(n)
	return Page{Version: version}, err
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[object], error) {
	verb, on := "WATCH", s.onWatch
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb, on = "STREAM", s.onStream
	}
	n := s.note(verb, opts)
	if s.hang[verb] {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var acts []act
	if on == nil && verb == "STREAM" {
		return nil, status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
	if on != nil {
		var err error
		if acts, err = on(n, opts); err != nil {
			return nil, err
		}
	}
	return &scriptedStream{ctx: ctx, acts: acts, done: make(chan struct{})}, nil
}

func (s *script) Get(ctx context.Context, key types.NamespacedName) (Item[object], error) {
	if s.onGet == nil {
		return Item[object]{}, errors.ErrUnsupported
	}
	n := s.note("GET", metav1.ListOptions{ResourceVersion: key.Name})
	if s.hang["GET"] {
		<-ctx.Done()
		return Item[object]{}, ctx.Err()
	}
	return s.onGet(n, key)
}

// status is an error of the server.
func status(code int32, reason metav1.StatusReason) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf("%s (%d)", reason, code),
	}}
}

var (
	errBusy      = status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	errExpired   = status(http.StatusGone, metav1.StatusReasonExpired)
	errInternal  = status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "",
		fmt.Errorf("user %q cannot list resource", "eve"))
)

// listed is an onList that always gives the same single page.
func listed(version string, items ...Item[object]) func(int, metav1.ListOptions) ([]Item[object], Page, error) {
	return func(int, metav1.ListOptions) ([]Item[object], Page, error) {
		return items, Page{Version: version}, nil
	}
}

// rig is a reflector over a script, with all that it tells.
type rig struct {
	*Reflector[object]
	t      *testing.T
	script *script
	sink   *recorder
	mu     sync.Mutex
	states []Status
	errs   []*ObjectError
}

func newRig(t *testing.T, s *script, opts Options[object]) *rig {
	t.Helper()
	g := &rig{t: t, script: s, sink: newRecorder(t)}
	opts.Name = "pods"
	opts.OnTransition = func(s Status) { g.mu.Lock(); g.states = append(g.states, s); g.mu.Unlock() }
	opts.OnObjectError = func(err *ObjectError) { g.mu.Lock(); g.errs = append(g.errs, err); g.mu.Unlock() }
	r, err := New[object](s, g.sink, opts)
	if err != nil {
		t.Fatal(err)
	}
	g.Reflector = r
	return g
}

// during runs the reflector for d of virtual time, calls check with it still
// running, and stops it.
func (g *rig) during(d time.Duration, check func()) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	time.Sleep(d)
	synctest.Wait()
	check()
	cancel()
	synctest.Wait()
	select {
	case err := <-result:
		if err != nil {
			g.t.Errorf("Run returned %v", err)
		}
	default:
		g.t.Fatal("Run goes on after its context has ended")
	}
	if s := g.Status(); s.State != Stopped {
		g.t.Errorf("state after Run: %s", s)
	}
}

// path returns the states gone through.
func (g *rig) path() []State {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []State
	for _, s := range g.states {
		out = append(out, s.State)
	}
	return out
}
