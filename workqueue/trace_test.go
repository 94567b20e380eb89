package workqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// trace is a tracer that keeps what it is told.
type trace []string

func (r *trace) Due(key string)     { *r = append(*r, "due "+key) }
func (r *trace) Started(key string) { *r = append(*r, "started "+key) }
func (r *trace) Ended(key string)   { *r = append(*r, "ended "+key) }

func TestATracerIsToldWhatHappensToEachKey(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(t *testing.T, q *Queue[string])
		want []string
	}{
		"a key is due once": {
			func(t *testing.T, q *Queue[string]) { add(t, q, "a", "a", "b"); get(t, q, "a") },
			[]string{"due a", "due b", "started a"},
		},
		"and once more while it runs, and not again when it is let go": {
			func(t *testing.T, q *Queue[string]) {
				add(t, q, "a")
				get(t, q, "a")
				add(t, q, "a", "a")
				done(t, q, "a", Result{})
				get(t, q, "a")
			},
			[]string{"due a", "started a", "due a", "ended a", "started a"},
		},
		"a delayed key is due at its time": {
			func(t *testing.T, q *Queue[string]) {
				addAfter(t, q, "a", time.Second)
				add(t, q, "b")
				time.Sleep(time.Second)
			},
			[]string{"due b", "due a"},
		},
		"and so is a retry": {
			func(t *testing.T, q *Queue[string]) {
				add(t, q, "a")
				get(t, q, "a")
				done(t, q, "a", Result{Err: errFailed, After: time.Second})
				add(t, q, "b")
				time.Sleep(time.Second)
			},
			[]string{"due a", "started a", "ended a", "due b", "due a"},
		},
		"one that is to run at once too": {
			func(t *testing.T, q *Queue[string]) {
				add(t, q, "a")
				get(t, q, "a")
				done(t, q, "a", Result{After: -1})
			},
			[]string{"due a", "started a", "ended a", "due a"},
		},
		"a held key is due when it is added": {
			func(t *testing.T, q *Queue[string]) {
				release, err := q.Hold("a", Hold{Reason: "test", Limit: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				add(t, q, "a", "b", "a")
				release()
				get(t, q, "b")
			},
			[]string{"due a", "due b", "started b"},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var told trace
			q := newQueue(t, Options[string]{Tracer: &told})
			row.do(t, q)
			synctest.Wait()
			if !slices.Equal(told, row.want) {
				t.Errorf("told %q, want %q", told, row.want)
			}
		})
	}
}
