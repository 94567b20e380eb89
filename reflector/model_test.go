package reflector

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// world is a small model of a server: a history of one collection, and faults
// by chance.
type world struct {
	t *testing.T

	mu        sync.Mutex
	rng       *rand.Rand
	faulty    bool
	streams   bool // serves streaming lists
	version   int
	objects   map[string]held
	history   []Event[object]
	compacted int // versions up to this one are forgotten
	snapshots map[string]snapshot
	changed   chan struct{}
}

type snapshot struct {
	version string
	rest    []Item[object]
}

func newWorld(t *testing.T, seed uint64, streams bool) *world {
	return &world{t: t, rng: rand.New(rand.NewPCG(seed, 0)), streams: streams, version: 1, faulty: true,
		objects: map[string]held{}, snapshots: map[string]snapshot{}, changed: make(chan struct{})}
}

// chance is true once in n times, while there are faults.
func (w *world) chance(n int) bool { return w.faulty && w.rng.IntN(n) == 0 }

// mutate does one random thing.
func (w *world) mutate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version += 1 + w.rng.IntN(3) // other collections move it too
	version := strconv.Itoa(w.version)
	name := string(rune('a' + w.rng.IntN(8)))
	before, there := w.objects[name]
	switch {
	case !there:
		w.objects[name] = held{types.UID("u" + version), version}
		w.history = append(w.history, event(deltafifo.Added, name, "u"+version, version))
	case w.rng.IntN(3) == 0:
		delete(w.objects, name)
		w.history = append(w.history, event(deltafifo.Deleted, name, string(before.uid), version))
	default:
		w.objects[name] = held{before.uid, version}
		w.history = append(w.history, event(deltafifo.Updated, name, string(before.uid), version))
	}
	if w.chance(30) {
		w.compacted = w.version - w.rng.IntN(10)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// items returns the state. The caller holds mu.
func (w *world) items() []Item[object] {
	var out []Item[object]
	for name, h := range w.objects {
		out = append(out, obj(name, string(h.uid), h.version))
	}
	return out
}

// holds is items as recorder.holds gives them.
func (w *world) holds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, it := range w.items() {
		out = append(out, it.Key.Name+"@"+it.Version)
	}
	slices.Sort(out)
	return out
}

func (w *world) setFaulty(faulty bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulty = faulty
}

func (w *world) List(_ context.Context, opts metav1.ListOptions, each func(Item[object]) error) (Page, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if opts.ResourceVersion != "" {
		w.t.Errorf("a list at version %q", opts.ResourceVersion)
	}
	page := snapshot{strconv.Itoa(w.version), w.items()}
	if opts.Continue != "" {
		page = w.snapshots[opts.Continue]
		if w.chance(4) {
			return Page{}, errExpired
		}
	}
	if w.chance(5) {
		return Page{}, []error{errBusy, errInternal, io.ErrUnexpectedEOF, errForbidden}[w.rng.IntN(4)]
	}
	n := len(page.rest)
	var next string
	if limit := int(opts.Limit); limit > 0 && limit < n {
		n = limit
		next = fmt.Sprintf("%s/%d/%d", page.version, len(page.rest), len(w.snapshots))
		w.snapshots[next] = snapshot{page.version, page.rest[n:]}
	}
	for _, it := range page.rest[:n] {
		if err := each(it); err != nil {
			return Page{}, err
		}
	}
	return Page{Version: page.version, Continue: next}, nil
}

func (w *world) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[object], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &worldStream{world: w, ctx: ctx, done: make(chan struct{}), at: w.version}
	if opts.SendInitialEvents == nil {
		s.at, _ = strconv.Atoi(opts.ResourceVersion)
		if s.at < w.compacted {
			return nil, errExpired
		}
	} else {
		if !w.streams {
			return nil, status(422, metav1.StatusReasonInvalid)
		}
		for _, it := range w.items() {
			s.initial = append(s.initial, Event[object]{Type: deltafifo.Added, Item: it})
		}
		s.initial = append(s.initial, end(strconv.Itoa(w.version)))
	}
	if w.chance(5) {
		return nil, []error{errBusy, errInternal, io.ErrUnexpectedEOF, errForbidden}[w.rng.IntN(4)]
	}
	return s, nil
}

// worldStream reads the history from at on.
type worldStream struct {
	world   *world
	ctx     context.Context
	once    sync.Once
	done    chan struct{}
	at      int
	initial []Event[object]
}

func (s *worldStream) Stop() { s.once.Do(func() { close(s.done) }) }

func (s *worldStream) Next() ([]Event[object], error) {
	for {
		events, changed, err := s.read()
		if len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		case <-s.done:
			return nil, ErrStopped
		}
	}
}

func (s *worldStream) read() (events []Event[object], changed chan struct{}, err error) {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(s.initial); n > 0 {
		events, s.initial = s.initial, nil
		if w.chance(4) {
			return events[:w.rng.IntN(n)], nil, io.EOF
		}
		return events, nil, nil
	}
	if w.chance(15) {
		return nil, nil, []error{io.EOF, io.ErrUnexpectedEOF, errInternal, errBusy}[w.rng.IntN(4)]
	}
	if s.at < w.compacted {
		return nil, nil, errExpired
	}
	for _, e := range w.history {
		if v, _ := strconv.Atoi(e.Version); v > s.at {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return nil, w.changed, nil
	}
	s.at = w.version
	events = s.garble(events)
	if w.rng.IntN(3) == 0 {
		events = append(events, bookmark(strconv.Itoa(w.version)))
	}
	return events, nil, nil
}

// garble repeats and swaps events, as a server must not.
func (s *worldStream) garble(events []Event[object]) []Event[object] {
	w := s.world
	if w.chance(4) {
		i := w.rng.IntN(len(events))
		events = slices.Insert(events, i, events[i])
	}
	if w.chance(4) {
		events = append(events, w.history[w.rng.IntN(len(w.history))])
	}
	if w.chance(4) {
		i, j := w.rng.IntN(len(events)), w.rng.IntN(len(events))
		events[i], events[j] = events[j], events[i]
	}
	return events
}

func TestWhateverHappensTheSinkEndsInTheStateOfTheServer(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, seed%2 == 0)
			sink := newRecorder(t)
			var source Source[object] = w
			if seed/2%2 == 0 {
				source = skipping{Source: w, decoded: new(int)}
			}
			r, err := New(source, sink, Options[object]{Name: "pods", PageSize: 3, RelistBudget: int(seed % 3)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			pace := rand.New(rand.NewPCG(seed, 1))
			for range 20 {
				w.setFaulty(true)
				for range 50 {
					w.mutate()
					if pace.IntN(3) == 0 { // else more come in one batch
						time.Sleep(time.Duration(pace.IntN(3000)) * time.Millisecond)
					}
				}
				w.setFaulty(false)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if got, want := sink.holds(), w.holds(); !slices.Equal(got, want) {
					t.Fatalf("seed %d: held %v, want %v\n%s", seed, got, want, r.Status())
				}
				if st := r.Status(); st.Version != strconv.Itoa(w.version) || st.State != Watching || st.Tries != 0 {
					t.Fatalf("seed %d: %+v", seed, st)
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			return
		}
	}
}
