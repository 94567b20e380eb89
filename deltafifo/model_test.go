package deltafifo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// state is what a map of the objects knows of one.
type state struct {
	uid     types.UID
	version int
}

type objects map[types.NamespacedName]state

// apply does what any consumer would, without asking whether it makes sense.
func (o objects) apply(d Delta[int]) {
	switch d.Type {
	case Added, Updated:
		o[d.Key] = state{d.UID, version(d)}
	case Deleted:
		delete(o, d.Key)
	case Replaced:
		for _, item := range d.Items {
			o.apply(item)
		}
	}
}

func version(d Delta[int]) int {
	n, err := strconv.Atoi(d.Version)
	if err != nil {
		panic(err)
	}
	return n
}

// server makes a random history of some lasting and many short-lived objects.
type server struct {
	rand    *rand.Rand
	live    objects
	version int
	names   int
	maxLive int
	log     []Delta[int]
	pushed  int // of log
}

// event adds one delta to the log. The object of each is its place there.
func (s *server) event(typ Type, key types.NamespacedName, uid types.UID) {
	d := Delta[int]{Type: typ, Key: key, UID: uid, Version: strconv.Itoa(s.version), Object: len(s.log)}
	s.live.apply(d)
	s.log = append(s.log, d)
}

func (s *server) key() types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: fmt.Sprint("lasting-", s.rand.IntN(s.maxLive/2))}
}

// step makes the next event of a watch.
func (s *server) step() {
	s.version += 1 + s.rand.IntN(2)
	key := s.key()
	held, alive := s.live[key]
	fresh := types.UID(fmt.Sprint("u", s.version))
	switch n := s.rand.IntN(100); {
	case n < 10:
		s.event(Bookmark, types.NamespacedName{}, "")
	case n < 20 && len(s.live) < s.maxLive:
		s.names++
		s.event(Added, types.NamespacedName{Name: fmt.Sprint("short-", s.names)}, fresh)
	case n < 35:
		for short, held := range s.live {
			if short.Namespace == "" {
				s.event(Deleted, short, held.uid)
				return
			}
		}
	case !alive && len(s.live) < s.maxLive:
		s.event(Added, key, fresh)
	case alive && n < 45:
		s.event(Deleted, key, held.uid)
		if n < 40 { // it left the selection and comes back
			s.version++
			s.event(Added, key, held.uid)
		}
	case alive:
		s.event(Updated, key, held.uid)
	}
}

// delay lets the last two events change places, as frames of different objects
// do on their way.
func (s *server) delay() {
	n := len(s.log)
	if n-2 < s.pushed {
		return
	}
	a, b := &s.log[n-2], &s.log[n-1]
	if a.Key != b.Key && a.Key.Name != "" && b.Key.Name != "" {
		*a, *b = *b, *a
		a.Object, b.Object = n-2, n-1
	}
}

// relist makes a list that shows what happened while nobody watched.
func (s *server) relist() {
	s.version++
	list := Delta[int]{Type: Replaced, Version: strconv.Itoa(s.version), Object: len(s.log)}
	var changed []Delta[int]
	for range s.rand.IntN(6) {
		key := s.key()
		if slices.ContainsFunc(append(changed, list.Items...), func(d Delta[int]) bool { return d.Key == key }) {
			continue
		}
		held, alive := s.live[key]
		item := Delta[int]{Key: key, UID: types.UID(fmt.Sprint("u", s.version)), Version: list.Version, Object: list.Object}
		gone := item
		gone.Type, gone.UID, gone.FinalStateUnknown = Deleted, held.uid, true
		switch n := s.rand.IntN(3); {
		case !alive && len(s.live)+len(changed) < s.maxLive:
			item.Type = Added
			changed = append(changed, item)
		case alive && n == 0:
			list.Items = append(list.Items, gone)
		case alive && n == 1:
			item.Type = Added
			list.Items = append(list.Items, gone)
			changed = append(changed, item)
		case alive:
			item.Type, item.UID = Updated, held.uid
			changed = append(changed, item)
		}
	}
	list.Items = append(list.Items, changed...)
	s.live.apply(list)
	s.log = append(s.log, list)
}

// consumer pops and checks what every consumer relies on.
type consumer struct {
	t        *testing.T
	q        *DeltaFIFO[int]
	log      []Delta[int] // of all that was pushed
	store    objects
	inFlight []Delta[int] // not yet applied
	told     map[types.NamespacedName]int
	place    int // in log, of the last delta popped
	newest   int // version popped
	prefix   objects
	due      int // newest version in prefix
	upto     int // in log, of the state in prefix
}

// pop ends the last batch and takes another.
func (c *consumer) pop() {
	c.t.Helper()
	c.apply(len(c.inFlight))
	batch, err := c.q.Pop(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	c.inFlight = batch
}

// apply applies n deltas of the batch in flight. At its end, the store must be
// in the state that the server had at that place of the log.
func (c *consumer) apply(n int) {
	c.t.Helper()
	for _, d := range c.inFlight[:n] {
		c.check(d)
		c.store.apply(d)
	}
	c.inFlight = c.inFlight[n:]
	if len(c.inFlight) > 0 {
		return
	}
	for ; c.upto < int(c.q.popped); c.upto++ {
		c.prefix.apply(c.log[c.upto])
		c.due = max(c.due, version(c.log[c.upto]))
	}
	if diff := differ(c.store, c.prefix); diff != "" {
		c.t.Fatalf("after the batch that ends at place %d of the log: %s", c.upto, diff)
	}
	if c.newest != c.due {
		c.t.Fatalf("the newest version popped is %d, want %d", c.newest, c.due)
	}
}

// check looks at one popped delta before it is applied.
func (c *consumer) check(d Delta[int]) {
	c.t.Helper()
	c.newest = max(c.newest, version(d))
	if d.Type != Bookmark {
		if d.Object < c.place {
			c.t.Fatalf("place %d after %d: %+v", d.Object, c.place, d)
		}
		c.place = d.Object
	}
	switch d.Type {
	case Bookmark:
	case Replaced:
		if origin := c.log[d.Object]; len(d.Items) != len(origin.Items) || d.Version != origin.Version {
			c.t.Fatalf("popped %+v, pushed was %+v", d, origin)
		}
		for _, item := range d.Items {
			c.checkObject(item)
			c.store.apply(item)
		}
	default:
		if origin := c.log[d.Object]; d.Key != origin.Key || d.UID != origin.UID || d.Version != origin.Version {
			c.t.Fatalf("popped %+v, pushed was %+v", d, origin)
		}
		c.checkObject(d)
	}
}

// checkObject checks the chain of one key: added, updated, deleted, of one UID.
func (c *consumer) checkObject(d Delta[int]) {
	c.t.Helper()
	held, alive := c.store[d.Key]
	switch {
	case d.Type == Added && alive:
		c.t.Fatalf("%+v is added, but %+v is held and was not deleted", d, held)
	case d.Type == Updated && (!alive || held.uid != d.UID):
		c.t.Fatalf("%+v is updated, but held is %+v (%v)", d, held, alive)
	case d.Type == Deleted && alive && held.uid != d.UID:
		c.t.Fatalf("%+v is deleted, but held is %+v", d, held)
	case alive && version(d) <= held.version:
		c.t.Fatalf("%+v goes back behind %+v", d, held)
	}
	if before := c.told[d.Key]; version(d) < before {
		c.t.Fatalf("%+v goes back behind version %d", d, before)
	}
	c.told[d.Key] = version(d)
}

// bound is the largest weight that the documentation allows after a compaction.
func (c *consumer) bound(maxLive int) int {
	held := map[types.NamespacedName]struct{}{}
	for key := range c.store {
		held[key] = struct{}{}
	}
	for i := range c.q.batch {
		c.q.batch[i].addKeys(held)
	}
	n := 2*len(held) + maxLive + 1
	for i := range c.q.buf.queued() {
		d := &c.q.buf.queued()[i]
		d.addKeys(held)
		if d.Type == Replaced {
			n += 1 + len(d.Items) + 2*len(held) + maxLive + 1
		}
	}
	return n
}

func differ(got, want objects) string {
	for key, w := range want {
		if g, found := got[key]; !found || g != w {
			return fmt.Sprintf("%v is %+v (%v), want %+v", key, g, found, w)
		}
	}
	for key, g := range got {
		if _, found := want[key]; !found {
			return fmt.Sprintf("%v is %+v, want nothing", key, g)
		}
	}
	return ""
}

// However deltas are pushed, compacted, popped and applied: after each batch the
// consumer is in a state that the server had, its changes form a chain for each
// key, and the queue is bounded by what lives.
func TestModel(t *testing.T) {
	for seed := range uint64(32) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	srv := &server{rand: r, live: objects{}, maxLive: 4 + r.IntN(20)}
	c := &consumer{t: t, store: objects{}, told: map[types.NamespacedName]int{}, prefix: objects{}}
	opts := Options{Budget: 1 + r.IntN(32), BatchSize: 1 + r.IntN(16)}
	withHolds := seed%4 != 0
	if withHolds {
		opts.Holds = func(key types.NamespacedName) bool { _, held := c.store[key]; return held }
	}
	q, err := New[int](opts)
	if err != nil {
		t.Fatal(err)
	}
	c.q = q
	slowness := 1 + r.IntN(60)
	compactions, bound := uint64(0), 0
	for range 3000 {
		for range r.IntN(4) {
			srv.step()
			if r.IntN(8) == 0 {
				srv.delay()
			}
		}
		if r.IntN(50) == 0 {
			srv.relist()
		}
		c.log = srv.log
		if err := q.Push(slices.Clone(srv.log[srv.pushed:])); err != nil {
			t.Fatal(err)
		}
		srv.pushed = len(srv.log)
		if q.compactions != compactions {
			compactions = q.compactions
			bound = c.bound(srv.maxLive)
		}
		if w := weight(q.buf.queued()); q.weight != w || q.fresh < 0 || q.fresh > w {
			t.Fatalf("the weight is %d of which %d is fresh, want %d", q.weight, q.fresh, w)
		}
		if withHolds && q.weight > max(opts.Budget, 2*bound) {
			t.Fatalf("%d deltas and items are queued, want at most max(%d, 2 x %d)", q.weight, opts.Budget, bound)
		}
		switch n := r.IntN(slowness); {
		case n == 0 && q.Len() > 0:
			c.pop()
		case n == 1 && len(c.inFlight) > 0:
			c.apply(r.IntN(len(c.inFlight)) + 1)
		}
	}
	for q.Len() > 0 {
		c.pop()
	}
	c.apply(len(c.inFlight))
	if diff := differ(c.store, srv.live); diff != "" {
		t.Errorf("at the end: %s", diff)
	}
	q.Close()
	if _, err := q.Pop(t.Context()); err != ErrClosed {
		t.Errorf("Pop of the closed queue = %v, want ErrClosed", err)
	}
	if err := q.Settled(t.Context()); err != nil {
		t.Errorf("Settled at the end = %v", err)
	}
}
