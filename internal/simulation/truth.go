package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What writers put into an object, so that each of its states can be told from
// every other: the number of the write is in no two of them.
const (
	writeAnnotation = "simulation/write"
	colourLabel     = "colour"
)

// State is one state of one object. Without a UID there is no object, and
// Version is that of its delete.
type State struct {
	UID     types.UID `json:"uid,omitempty"`
	Version uint64    `json:"version,omitempty"`
	Write   string    `json:"write,omitempty"`
	Colour  string    `json:"colour,omitempty"`
}

func (s State) there() bool { return s.UID != "" }

// String is short: most of it is printed many times.
func (s State) String() string {
	if !s.there() {
		return fmt.Sprintf("nothing@%d", s.Version)
	}
	return fmt.Sprintf("%.8s@%d(write %s, %s)", s.UID, s.Version, s.Write, s.Colour)
}

// stateOf reads the state of an object. One whose parts are not of the same
// write gets a Write that no history has.
func stateOf(obj metav1.Object) State {
	s := State{UID: obj.GetUID(), Write: obj.GetAnnotations()[writeAnnotation], Colour: obj.GetLabels()[colourLabel]}
	s.Version, _ = strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if m, ok := obj.(*corev1.ConfigMap); ok && (m.Data["write"] != s.Write || m.Data[poisonKey] != "" != s.poisonous()) {
		s.Write += fmt.Sprint(" torn from ", m.Data)
	}
	return s
}

// Point is a state in the history of its key. An epoch begins when the server
// goes back in time, with the states that it went back to.
type Point struct {
	Epoch int                  `json:"epoch"`
	Key   types.NamespacedName `json:"key"`
	State
}

// Truth is the history of the server: what every informer and handler is
// measured by. Its methods are safe for concurrent use.
type Truth struct {
	mu     sync.Mutex
	epoch  int
	points map[types.NamespacedName][]Point
}

func newTruth() *Truth { return &Truth{points: make(map[types.NamespacedName][]Point)} }

// add appends a point of the present epoch or of a later one.
func (t *Truth) add(p Point) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch = max(t.epoch, p.Epoch)
	t.points[p.Key] = append(t.points[p.Key], p)
}

// now is the present epoch.
func (t *Truth) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch
}

// goBack begins an epoch with the state that an earlier one had at a version.
func (t *Truth) goBack(epoch int, version uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch++
	for key, points := range t.points {
		s := stateAt(points, epoch, version)
		if !s.there() {
			s.Version = 0
		}
		t.points[key] = append(points, Point{Epoch: t.epoch, Key: key, State: s})
	}
}

// stateAt is the last state of an epoch that is no newer than a version.
func stateAt(points []Point, epoch int, version uint64) State {
	var s State
	for _, p := range points {
		if p.Epoch == epoch && p.Version <= version {
			s = p.State
		}
	}
	return s
}

// all returns every point, key by key.
func (t *Truth) all() []Point {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Point
	for _, key := range slices.SortedFunc(maps.Keys(t.points), compareKeys) {
		out = append(out, t.points[key]...)
	}
	return out
}

func compareKeys(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

// view is the part of the truth that an informer reads.
type view struct {
	truth             *Truth
	namespace, colour string // empty is any
}

// sees turns what the view does not select into nothing.
func (v view) sees(key types.NamespacedName, s State) State {
	if v.namespace != "" && v.namespace != key.Namespace || v.colour != "" && v.colour != s.Colour {
		return State{Version: s.Version}
	}
	return s
}

// find returns the first point of a key, from a place on, whose state matches.
func (v view) find(key types.NamespacedName, from int, match func(State) bool) (place int, found bool) {
	v.truth.mu.Lock()
	defer v.truth.mu.Unlock()
	points := v.truth.points[key]
	for i := max(from, 0); i < len(points); i++ {
		if match(v.sees(key, points[i].State)) {
			return i, true
		}
	}
	return 0, false
}

// at is the whole state of an epoch at a version.
func (v view) at(epoch int, version uint64) map[types.NamespacedName]State {
	v.truth.mu.Lock()
	defer v.truth.mu.Unlock()
	out := make(map[types.NamespacedName]State)
	for key, points := range v.truth.points {
		if s := v.sees(key, stateAt(points, epoch, version)); s.there() {
			out[key] = s
		}
	}
	return out
}

// history tells the points of a key, for messages.
func (v view) history(key types.NamespacedName) string {
	v.truth.mu.Lock()
	defer v.truth.mu.Unlock()
	var b strings.Builder
	for i, p := range v.truth.points[key] {
		fmt.Fprintf(&b, " %d:%d/%v", i, p.Epoch, v.sees(key, p.State))
	}
	return b.String()
}
