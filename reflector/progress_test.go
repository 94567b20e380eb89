package reflector

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// repeat returns n times a.
func repeat(n int, a act) (acts []act) {
	for range n {
		acts = append(acts, a)
	}
	return acts
}

// trickling reads n times 10 bytes, one each period.
func trickling(n int, period time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		for range n {
			select {
			case <-time.After(period):
				SourceTraceFrom(ctx).Read(10)
			case <-ctx.Done():
				return
			}
		}
	}
}

func TestASlowSyncThatAdvancesIsNeverCutAndAStallIs(t *testing.T) { // report 64
	second := send(event(deltafifo.Added, "b", "u2", "6"), end("10"))
	hourly := []act{oneAdded}
	for i := range 1000 {
		hourly = append(hourly, send(event(deltafifo.Added, fmt.Sprint(i), fmt.Sprint(i), "5")).wait(9*time.Second))
	}
	for _, test := range []struct {
		name    string
		script  *script
		opts    Options[object]
		streams int
		lists   int
		after   time.Duration // when it was synced
	}{{
		name:    "a stream of bytes without a whole object",
		script:  &script{onStream: always(append(append([]act{oneAdded}, repeat(100, read(7).wait(9*time.Second))...), second)...)},
		streams: 1, after: 900 * time.Second,
	}, {
		name:    "a stream of objects for hours",
		script:  &script{onStream: always(append(hourly, second)...)},
		streams: 1, after: 9000 * time.Second,
	}, {
		name: "a stream whose bytes stop coming",
		script: &script{onStream: always(append(append([]act{oneAdded}, repeat(3, read(7).wait(9*time.Second))...), second.wait(time.Hour))...),
			onList: listed("10", obj("a", "u1", "5"))},
		streams: 1, lists: 1, after: 37 * time.Second,
	}, {
		name: "the bytes of changes",
		script: &script{onStream: always(append([]act{oneAdded, send(event(deltafifo.Updated, "a", "u1", "6"))}, repeat(100, read(7).wait(time.Second))...)...),
			onList: listed("10", obj("a", "u1", "5"))},
		streams: 1, lists: 1, after: 10 * time.Second,
	}, {
		name: "the bytes of objects that come twice",
		script: &script{onStream: always(append([]act{oneAdded, oneAdded}, repeat(100, read(7).wait(time.Second))...)...),
			onList: listed("10", obj("a", "u1", "5"))},
		streams: 1, lists: 1, after: 10 * time.Second,
	}, {
		name:   "a page of bytes without a whole object",
		script: &script{onList: listed("10", obj("a", "u1", "5")), trickle: trickling(100, 80*time.Second)},
		opts:   Options[object]{Streaming: StreamingNever},
		lists:  1, after: 8000 * time.Second,
	}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, test.script, test.opts)
				g.during(test.after+time.Second, func() {
					st := g.Status()
					if streams, lists := len(g.script.asked("STREAM")), len(g.script.asked("LIST")); streams != test.streams || lists != test.lists {
						t.Errorf("%d streams, %d lists", streams, lists)
					}
					if at := st.LastList.Began.Add(st.LastList.Took); !st.Synced || st.Since != at || time.Since(at) != time.Second {
						t.Errorf("synced at %v: %+v", at, st)
					}
				})
			})
		})
	}
}

func TestAPageWhoseBytesStopComingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), trickle: func(ctx context.Context) {
			trickling(1, 80*time.Second)(ctx)
			<-ctx.Done()
		}}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(170*time.Second+time.Millisecond, func() {
			if st := g.Status(); st.State != BackingOff || st.Class != ClassUnreachable || st.Bytes != 10 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestTheStatusTellsWhatCameAndWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &script{
			onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
				if opts.Continue == "" {
					return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10", Continue: "c"}, nil
				}
				return []Item[object]{obj("c", "u3", "7")}, Page{Version: "10"}, nil
			},
			trickle: trickling(1, 4*time.Second),
			onWatch: always(read(3).wait(time.Second), send(event(deltafifo.Updated, "a", "u1", "12"), bookmark("13")), read(4).wait(time.Minute)),
		}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever, PageSize: 2})
		g.during(2*time.Minute, func() {
			st := g.Status()
			want := ListReport{Began: start, Took: 8 * time.Second, Waited: 8 * time.Second, Pages: 2, Objects: 3, Bytes: 20, Changes: 3}
			if st.LastList != want {
				t.Errorf("the list: %+v\nwant %+v", st.LastList, want)
			}
			if st.Received != 4 || st.Bytes != 27 {
				t.Errorf("received %d objects, %d bytes", st.Received, st.Bytes)
			}
			if at := start.Add(9 * time.Second); !st.LastEvent.Equal(at) || !st.LastBookmark.Equal(at) || !st.LastHeard.Equal(at.Add(time.Minute)) {
				t.Errorf("status: %+v", st)
			}
			if st.Age() != 51*time.Second {
				t.Errorf("age: %v", st.Age())
			}
		})
	})
}

func TestARefusalIsAProofOfLifeAndTheWordOfAProxyIsNot(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		heard bool
	}{
		"forbidden":   {errForbidden, true},
		"busy":        {errBusy, true},
		"unavailable": {status(503, metav1.StatusReasonServiceUnavailable), false},
		"cut":         {fmt.Errorf("dial: %w", errDeadline), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, &script{onStream: refusing(test.err)}, Options[object]{})
				g.during(500*time.Millisecond, func() {
					st := g.Status()
					if heard := !st.LastHeard.IsZero(); heard != test.heard || heard != (st.Age() > 0) {
						t.Errorf("heard %v, age %v", st.LastHeard, st.Age())
					}
				})
			})
		})
	}
}

func TestAStreamThatGoesOnAsAWatchIsRenewedLikeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: always(oneAdded, send(end("10")))}
		g := newRig(t, s, Options[object]{WatchTimeout: time.Minute})
		g.during(61*time.Second, func() {
			wantLines(t, "asked", s.asked(), "STREAM()", "WATCH(10)")
			if life := *s.asked("STREAM")[0].opts.TimeoutSeconds; life < 3600 {
				t.Errorf("the server may end the streaming list after %d s", life)
			}
			if st := g.Status(); st.LastError != nil || st.Tries != 0 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}
