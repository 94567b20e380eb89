package reflector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// DefaultMaxLists is the number of states that a group reads at a time.
	DefaultMaxLists = 16
	// turnPatience is how long a state may bring nothing and keep its turn, and
	// turnLength how long it may keep it at all. Most states are read within
	// that; one that takes longer is slow because of its server or the network,
	// and one more beside it makes little difference.
	turnPatience, turnLength = 5 * time.Second, 30 * time.Second
	// probeGap is the least time between two tries of a whole group while the
	// server is away, and wakeGap the one between those it wakes when it is
	// back.
	probeGap, wakeGap = time.Second, 20 * time.Millisecond
)

// Group is what the reflectors of one server share, so that hundreds of them
// neither flood it nor wait long for it:
//
//   - Only so many read their whole state at a time. One that gets nothing for
//     five seconds, or has read for thirty, gives up its turn and reads on, so
//     that a resource that does not answer, or trickles, holds up no other.
//   - While the server is unreachable, they try once a second, all together, and
//     whoever reaches it wakes the others, fifty in a second. Each is woken so
//     once; if it fails again, its own pause counts before it can be woken again,
//     so that one resource that is unreachable while the rest of the server is
//     well is not tried all the time.
//
// In both, those come first for which somebody waits (see Reflector.Want).
//
// A group is made by NewGroup, and has no goroutine. It is safe for use by several goroutines.
type Group struct {
	maxLists int
	// away is set while the last that was heard of the server is that it
	// cannot be reached.
	away atomic.Bool

	mu      sync.Mutex
	reading int
	queue   []*turn
	// probe is the time of the last try that was given out.
	probe    time.Time
	sleepers map[*member]struct{}
}

// NewGroup returns a group that reads maxLists states at a time; 0 means
// DefaultMaxLists, less is an error that wraps ErrInvalid.
func NewGroup(maxLists int) (*Group, error) {
	if maxLists < 0 {
		return nil, fmt.Errorf("%w group: %d lists at a time", ErrInvalid, maxLists)
	}
	if maxLists == 0 {
		maxLists = DefaultMaxLists
	}
	return &Group{maxLists: maxLists, sleepers: make(map[*member]struct{})}, nil
}

// member is a reflector, as its group sees it.
type member struct {
	// wanted counts those who wait for it.
	wanted atomic.Int32
	// wake has the time at which the pause ends early. It is nil but in a pause that
	// can end so.
	wake chan time.Time
	// The group's lock guards these: woken is set when the last pause was ended
	// early, and deaf while the present one cannot be.
	woken, deaf bool
}

// Want puts a reflector before the others of its group until release is called:
// somebody waits for it.
func (r *Reflector[T]) Want() (release func()) {
	r.member.wanted.Add(1)
	return sync.OnceFunc(func() { r.member.wanted.Add(-1) })
}

// turn is the right to read a state.
type turn struct {
	group  *Group
	member *member
	// ready is closed when it is had.
	ready chan struct{}
	once  sync.Once
	// The group's lock guards these: patience looks whether something comes.
	patience *time.Timer
	stopped  bool
}

// turn waits for the right to read a state. waiting is called if that takes time.
// A nil group has no bounds. If ctx ends, there is none.
func (g *Group) turn(ctx context.Context, m *member, waiting func(reading int)) *turn {
	if g == nil {
		return nil
	}
	t := &turn{group: g, member: m, ready: make(chan struct{})}
	g.mu.Lock()
	reading := g.reading
	if reading < g.maxLists {
		g.reading++
		g.mu.Unlock()
		return t
	}
	g.queue = append(g.queue, t)
	g.mu.Unlock()
	waiting(reading)
	select {
	case <-t.ready:
	case <-ctx.Done():
		g.leave(t)
		return nil
	}
	return t
}

// leave takes back the wish for a turn, or gives back what came meanwhile.
func (g *Group) leave(t *turn) {
	g.mu.Lock()
	at := slices.Index(g.queue, t)
	if at >= 0 {
		g.queue = slices.Delete(g.queue, at, at+1)
	}
	g.mu.Unlock()
	if at < 0 {
		t.done()
	}
}

// watch gives the turn up when count does not grow, or when it has been long.
func (t *turn) watch(count func() uint64) {
	if t == nil {
		return
	}
	last, began := count(), time.Now()
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	t.patience = time.AfterFunc(turnPatience, func() {
		now := count()
		if now == last || time.Since(began) >= turnLength {
			t.done()
			return
		}
		last = now
		t.group.mu.Lock()
		defer t.group.mu.Unlock()
		if !t.stopped {
			t.patience.Reset(turnPatience)
		}
	})
}

// stop ends the turn for good.
func (t *turn) stop() {
	if t == nil {
		return
	}
	t.done()
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	if t.stopped = true; t.patience != nil {
		t.patience.Stop()
	}
}

// done gives the turn to the next: the first of those that are wanted, or else
// the first.
func (t *turn) done() {
	t.once.Do(func() {
		g := t.group
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.queue) == 0 {
			g.reading--
			return
		}
		at := max(0, slices.IndexFunc(g.queue, func(t *turn) bool { return t.member.wanted.Load() > 0 }))
		next := g.queue[at]
		g.queue = slices.Delete(g.queue, at, at+1)
		close(next.ready)
	})
}

// lost notes that a member could not reach the server.
func (g *Group) lost() {
	if g != nil {
		g.away.Store(true)
	}
}

// met notes that a member has reached the server, and wakes those that wait for
// that.
func (g *Group) met(m *member) {
	if g == nil || !g.away.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.away.CompareAndSwap(true, false) {
		return
	}
	g.probe = time.Time{}
	waiting := make([]*member, 0, len(g.sleepers))
	for s := range g.sleepers {
		if !s.deaf {
			waiting = append(waiting, s)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *member) int { return cmp.Compare(b.wanted.Load(), a.wanted.Load()) })
	at := time.Now()
	for _, s := range waiting {
		s.woken = true
		at = at.Add(wait.Jitter(wakeGap/2, 2))
		select {
		case s.wake <- at:
		default:
		}
	}
}

// sleep begins a pause of a member that could not reach the server.
func (g *Group) sleep(m *member) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m.wake = make(chan time.Time, 1)
	m.deaf, m.woken = m.woken, false
	g.sleepers[m] = struct{}{}
}

// rise ends it.
func (g *Group) rise(m *member) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sleepers, m)
	m.wake = nil
}

// slot returns when a member whose own pause is over may try.
func (g *Group) slot(m *member) time.Time {
	now := time.Now()
	if g == nil {
		return now
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.deaf = false; !g.away.Load() {
		return now
	}
	if next := g.probe.Add(probeGap); next.After(now) {
		now = next
	}
	g.probe = now
	return now
}

// isAway reports whether err says that the server was not reached by the last
// request.
func (r *Reflector[T]) isAway(err error) bool {
	return classify(err) == ClassUnreachable && !r.opened
}

// inTurn reads a state when it is the turn of the reflector.
func (r *Reflector[T]) inTurn(ctx context.Context, read func(context.Context) transition) transition {
	r.opened = false
	reason := r.Status().Reason
	turn := r.opts.Group.turn(ctx, &r.member, func(reading int) {
		r.update(func(s *Status) {
			s.Reason = fmt.Sprintf("waiting for its turn, %d others read their state; %s", reading, reason)
		})
	})
	defer turn.stop()
	if ctx.Err() != nil {
		return transition{to: Stopped} // not entered: the run ends with ctx
	}
	r.update(func(s *Status) { s.Reason = reason })
	turn.watch(func() uint64 { return r.progress.bytes.Load() + r.progress.objects.Load() })
	return read(ctx)
}
