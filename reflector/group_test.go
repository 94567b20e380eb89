package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// town is a server with many resources, that can go away.
type town struct {
	began time.Time
	away  atomic.Bool
	gone  chan struct{} // closed when it goes away

	mu       sync.Mutex
	requests []time.Duration
	reading  int
	most     int
	order    []int
}

// resource is one of its resources; a list takes a second.
type townResource struct {
	*town
	n int
}

func (r townResource) note() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, time.Since(r.began))
	if r.away.Load() {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (r townResource) List(ctx context.Context, _ metav1.ListOptions, each func(Item[object]) error) (Page, error) {
	if err := r.note(); err != nil {
		return Page{}, err
	}
	r.mu.Lock()
	r.reading++
	r.most = max(r.most, r.reading)
	r.order = append(r.order, r.n)
	r.mu.Unlock()
	sleep(ctx, time.Now().Add(time.Second))
	r.mu.Lock()
	r.reading--
	r.mu.Unlock()
	return Page{Version: "10"}, ctx.Err()
}

func (r townResource) Watch(ctx context.Context, _ metav1.ListOptions) (Stream[object], error) {
	if err := r.note(); err != nil {
		return nil, err
	}
	return &townStream{ctx: ctx, gone: r.gone}, nil
}

type townStream struct {
	ctx  context.Context
	gone chan struct{}
}

func (s *townStream) Next() ([]Event[object], error) {
	select {
	case <-s.gone:
		return nil, io.ErrUnexpectedEOF
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *townStream) Stop() {}

// between counts the requests in a span of time.
func (s *town) between(from, to time.Duration) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.requests {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

// settle runs a reflector for each of n resources.
func (s *town) settle(t *testing.T, n int, group *Group) (all []*Reflector[object], stop func()) {
	t.Helper()
	s.began, s.gone = time.Now(), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range n {
		r, err := New(Source[object](townResource{s, i}), newRecorder(t), Options[object]{Name: fmt.Sprint(i), Streaming: StreamingNever, Group: group, WatchTimeout: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		running.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return all, func() { cancel(); running.Wait() }
}

func watching(all []*Reflector[object]) (n int) {
	for _, r := range all {
		if r.Status().State == Watching {
			n++
		}
	}
	return n
}

func newGroup(t *testing.T, lists int) *Group {
	t.Helper()
	g, err := NewGroup(lists)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAnOutageIsNoFloodAndSoonOver(t *testing.T) { // report 17
	const resources = 300
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("in a group %v", together), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var group *Group
				if together {
					group = newGroup(t, 0)
				}
				s := &town{}
				all, stop := s.settle(t, resources, group)
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := watching(all); n != resources {
					t.Fatalf("%d of %d watch", n, resources)
				}
				s.away.Store(true)
				close(s.gone)
				time.Sleep(5 * time.Minute)
				s.gone = make(chan struct{})
				s.away.Store(false)
				back := time.Since(s.began)
				for watching(all) != resources && time.Since(s.began) < back+time.Minute {
					time.Sleep(100 * time.Millisecond)
				}
				took := time.Since(s.began) - back
				first, later := s.between(time.Minute, 2*time.Minute), s.between(2*time.Minute, back)
				busiest := 0
				for at := back; at < back+took; at += time.Second {
					busiest = max(busiest, s.between(at, at+time.Second))
				}
				t.Logf("%d requests in the first minute of the outage, %d in the next four; all back after %v, at most %d requests a second", first, later, took, busiest)
				if together && (first > resources*2+60 || later > 4*60+1 || took > 10*time.Second || busiest > 120) {
					t.Error("that is a flood, or late")
				}
				if !together && took < 20*time.Second {
					t.Error("the group makes no difference")
				}
				stop()
			})
		})
	}
}

func TestStatesAreReadInTurnsAndTheWantedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &town{}
		all, stop := s.settle(t, 100, newGroup(t, 5))
		release := all[99].Want()
		time.Sleep(1500 * time.Millisecond)
		waits := 0
		for _, r := range all {
			if st := r.Status(); st.State == Listing && !st.Synced && len(st.Reason) > 7 && st.Reason[:7] == "waiting" {
				waits++
			}
		}
		if waits != 90 {
			t.Errorf("%d wait for their turn", waits)
		}
		time.Sleep(20 * time.Second)
		release()
		live := watching(all)
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.most != 5 || live != 100 {
			t.Errorf("%d at a time, %d watch", s.most, live)
		}
		if at := slices.Index(s.order, 99); at > 10 {
			t.Errorf("the one that was wanted came at place %d", at)
		}
	})
}

func TestAResourceThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup(t, 1)
		hung := newRig(t, &script{hang: map[string]bool{"LIST": true}}, Options[object]{Streaming: StreamingNever, Group: group})
		good := newRig(t, &script{onList: listed("10")}, Options[object]{Streaming: StreamingNever, Group: group})
		hung.during(time.Second, func() {
			good.during(6*time.Second, func() {
				if st := good.Status(); st.State != Watching {
					t.Errorf("%s", st)
				}
			})
		})
	})
}

func TestAWaitForATurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup(t, 1)
		hung := newRig(t, &script{hang: map[string]bool{"LIST": true}}, Options[object]{Streaming: StreamingNever, Group: group})
		hung.during(time.Second, func() {
			second := newRig(t, &script{onList: listed("10")}, Options[object]{Streaming: StreamingNever, Group: group})
			second.during(time.Second, func() {
				if len(second.script.asked()) != 0 {
					t.Error("it did not wait")
				}
			})
		})
	})
}

func TestOneResourceThatIsAwayIsNotTriedMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup(t, 0)
		away := &script{onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) {
			return nil, Page{}, status(503, metav1.StatusReasonServiceUnavailable)
		}}
		busy := &script{onList: listed("10"), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			var acts []act
			for i := range 600 {
				acts = append(acts, send(bookmark(fmt.Sprint(n*1000+i+11))).wait(time.Second))
			}
			return acts, nil
		}}
		g := newRig(t, away, Options[object]{Streaming: StreamingNever, Group: group})
		other := newRig(t, busy, Options[object]{Streaming: StreamingNever, Group: group})
		other.during(time.Second, func() {
			g.during(10*time.Minute, func() {
				// Alone, it would be some twenty.
				if n := len(away.asked("LIST")); n < 15 || n > 45 {
					t.Errorf("%d lists in ten minutes", n)
				}
			})
		})
	})
}

func TestABadGroupIsRefused(t *testing.T) {
	if _, err := NewGroup(-1); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestTheNextTryIsTruthfulWhileAGroupTriesInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &town{}
		s.away.Store(true)
		all, stop := s.settle(t, 50, newGroup(t, 0))
		defer stop()
		time.Sleep(20*time.Second + time.Millisecond)
		synctest.Wait()
		for _, r := range all {
			if st := r.Status(); st.State == BackingOff && st.NextTry.Before(time.Now()) {
				t.Errorf("the next try was %v ago", time.Since(st.NextTry))
			}
		}
	})
}

func TestOnlyAServerThatWasNotReachedIsAway(t *testing.T) {
	asks := status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	asks.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 30}
	gone := status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	for name, test := range map[string]struct {
		err  error
		away bool
	}{"asks for a pause": {asks, false}, "is gone": {gone, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The watch was opened; what fails is the proof that follows its silence.
				s := &script{onList: listed("10"), onWatch: nth(bookmarks(10, 2), nil), onProof: func(int) (string, error) { return "", test.err }}
				group := newGroup(t, 0)
				g := newRig(t, s, Options[object]{Streaming: StreamingNever, Group: group, WatchTimeout: time.Hour})
				g.during(8*time.Minute, func() {
					if len(s.asked("PROOF")) != 1 || group.away.Load() != test.away {
						t.Errorf("asked %v, away %v", s.asked(), group.away.Load())
					}
				})
			})
		})
	}
}

func TestATurnThatHasEndedIsNotWatchedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newGroup(t, 1).turn(t.Context(), &member{}, nil)
		looks := 0
		turn.watch(func() uint64 {
			if looks++; looks == 2 {
				turn.stop() // it ends while somebody looks
			}
			return uint64(looks)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if looks != 2 {
			t.Errorf("looked %d times", looks)
		}
	})
}

func TestListsThatTrickleForEverHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		trickle := func(ctx context.Context) {
			for ctx.Err() == nil {
				SourceTraceFrom(ctx).Read(1)
				sleep(ctx, time.Now().Add(time.Second))
			}
		}
		for range 6 {
			slow := newRig(t, &script{onList: listed("10"), trickle: trickle}, Options[object]{Streaming: StreamingNever, Group: group})
			running.Go(func() { _ = slow.Run(ctx) })
		}
		synctest.Wait()
		good := newRig(t, &script{onList: listed("10")}, Options[object]{Streaming: StreamingNever, Group: group})
		// Two of the six after each half minute, then it.
		good.during(89*time.Second, func() {
			if st := good.Status(); st.State != Listing || len(good.script.asked()) != 0 {
				t.Errorf("it did not wait: %s", st)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if st := good.Status(); st.State != Watching {
				t.Errorf("%s: %s", st, st.Reason)
			}
		})
		cancel()
		running.Wait()
	})
}
