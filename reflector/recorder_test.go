package reflector

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

type held struct {
	uid     types.UID
	version string
}

// recorder is a Sink that applies what it gets, keeps a record, and fails the
// test if an object goes back or a delta is malformed.
type recorder struct {
	t      *testing.T
	mu     sync.Mutex
	state  map[types.NamespacedName]held
	deltas []deltafifo.Delta[object]
	refuse error
	// hang makes Known wait for its context.
	hang bool
	// loose accepts what a strict server would never cause.
	loose bool
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, state: map[types.NamespacedName]held{}}
}

func (s *recorder) Push(deltas []deltafifo.Delta[object]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	for _, d := range deltas {
		s.deltas = append(s.deltas, d)
		if d.Type != deltafifo.Replaced {
			s.apply(d, false)
			continue
		}
		added := false
		for _, item := range d.Items {
			if added = added || item.Type != deltafifo.Deleted; added && item.Type == deltafifo.Deleted {
				s.t.Errorf("a delete follows an add: %v", d.Items)
			}
			s.apply(item, true)
		}
	}
	return nil
}

func (s *recorder) apply(d deltafifo.Delta[object], listed bool) {
	before, there := s.state[d.Key]
	switch d.Type {
	case deltafifo.Bookmark:
		return
	case deltafifo.Deleted:
		if listed && (!there || before.uid != d.UID) {
			s.t.Errorf("%s: a list deletes %s, held is %v", d.Key, d.UID, before)
		}
		delete(s.state, d.Key)
		return
	case deltafifo.Added:
		if listed && there {
			s.t.Errorf("%s: a list adds what is held", d.Key)
		}
	case deltafifo.Updated:
		if listed && (!there || before.uid != d.UID) {
			s.t.Errorf("%s: a list updates %s, held is %v", d.Key, d.UID, before)
		}
	}
	order, ok := compareVersions(d.Version, before.version)
	if there && before.uid == d.UID && ok && order < 0 && !s.loose {
		s.t.Errorf("%s goes back from %s to %s", d.Key, before.version, d.Version)
	}
	if d.Object == nil || d.FinalStateUnknown {
		s.t.Errorf("%s: %s without an object", d.Key, d.Type)
	}
	s.state[d.Key] = held{d.UID, d.Version}
}

func (s *recorder) Known(ctx context.Context) (Known, error) {
	if s.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return view(maps.Clone(s.state)), nil
}

// view is a Known.
type view map[types.NamespacedName]held

func (v view) Len() int                             { return len(v) }
func (v view) Keys() iter.Seq[types.NamespacedName] { return maps.Keys(v) }
func (v view) Lookup(k types.NamespacedName) (types.UID, string, bool) {
	h, ok := v[k]
	return h.uid, h.version, ok
}

// took returns what was pushed, one line for each delta.
func (s *recorder) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, d := range s.deltas {
		out = append(out, line(d))
	}
	return out
}

func line(d deltafifo.Delta[object]) string {
	switch d.Type {
	case deltafifo.Bookmark:
		return "Bookmark@" + d.Version
	case deltafifo.Replaced:
		var items []string
		for _, item := range d.Items {
			items = append(items, line(item))
		}
		return fmt.Sprintf("Replaced@%s%v", d.Version, items)
	}
	s := fmt.Sprintf("%s %s/%s@%s", d.Type, d.Key.Name, d.UID, d.Version)
	if d.FinalStateUnknown {
		s += "?"
	}
	return s
}

// holds returns the names held with their versions, in order.
func (s *recorder) holds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k, h := range s.state {
		out = append(out, k.Name+"@"+h.version)
	}
	slices.Sort(out)
	return out
}

func wantLines[E any](t *testing.T, what string, got []E, want ...string) {
	t.Helper()
	var lines []string
	for _, g := range got {
		lines = append(lines, fmt.Sprint(g))
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, lines, want)
	}
}
