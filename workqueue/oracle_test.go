package workqueue

import (
	"cmp"
	"slices"
	"time"
)

// model is a queue without cleverness: the oracle of TestModel. It keeps all keys
// in one map and looks through all of them for everything.
type model struct {
	phase   phase
	ageing  time.Duration
	tenant  func(string) string // nil: none
	weights map[string]int
	keys    map[string]*modelKey
	rounds  map[int][]turn // by priority, the next first
	nth     int
	stats   Stats // what is only counted
}

// turn is a tenant in the round of a priority, with the keys that it may still
// have before the next.
type turn struct {
	tenant string
	left   int
}

type modelKey struct {
	key   string
	place Place // Ready, Running, or "" for neither
	since time.Time
	// stand is when a ready key took its stand, with which priority, and as the
	// how manieth.
	stand     time.Time
	lane, nth int

	priority, pending int
	again, patient    bool
	due               time.Time
	holds             []*modelHold
	fails             int
}

type modelHold struct {
	until time.Time
	key   *modelKey
}

func newModel(opts Options[string]) *model {
	return &model{
		ageing: opts.Ageing, tenant: opts.Tenant, weights: opts.Weights,
		keys: map[string]*modelKey{}, rounds: map[int][]turn{},
	}
}

func (m *model) tenantOf(key string) string {
	if m.tenant == nil {
		return ""
	}
	return m.tenant(key)
}

func (k *modelKey) pursued() bool { return k.again || k.patient || !k.due.IsZero() }

func (m *model) add(key string, opts AddOptions) bool {
	if m.phase != open {
		m.stats.Refused++
		return false
	}
	m.stats.Adds++
	k, now := m.keys[key], time.Now()
	if k == nil {
		k = &modelKey{key: key, priority: opts.Priority, since: now}
		m.keys[key] = k
	} else {
		m.stats.Merged++
		m.prefer(k, opts.Priority, now)
	}
	switch {
	case opts.KeepBackoff && k.place == "" && !k.due.IsZero() && k.fails > 0:
	case opts.After > 0 && (opts.KeepDelay || k.place != Ready && !k.again && !k.patient):
		m.postpone(k, now, now.Add(opts.After), opts.Replace)
	case opts.After > 0 || k.place == Ready || k.again:
	default:
		if !opts.KeepDelay {
			k.due = time.Time{}
		}
		if opts.KeepBackoff && k.place == Running {
			k.patient = true
		} else {
			m.makeReady(k, now)
		}
	}
	return true
}

func (m *model) prefer(k *modelKey, priority int, now time.Time) {
	switch {
	case k.place == Running && k.pursued():
		k.pending = max(k.pending, priority)
	case k.place == Running:
		k.pending = priority
	case k.place == "" && !k.pursued():
		k.priority = priority
	case priority > k.priority:
		k.priority = priority
		fresh := now.Add(-time.Duration(priority) * m.ageing)
		if k.place == Ready && fresh.Before(m.rank(k)) {
			m.unready(k)
			m.line(k, now)
		}
	}
}

// rank is the earlier the sooner a ready key comes.
func (m *model) rank(k *modelKey) time.Time {
	return k.stand.Add(-time.Duration(k.lane) * m.ageing)
}

func (m *model) makeReady(k *modelKey, now time.Time) {
	if k.place == Ready {
		return
	}
	if k.place == Running || len(k.holds) > 0 {
		k.again, k.patient = true, false
		return
	}
	k.again, k.patient, k.place, k.since = false, false, Ready, now
	m.line(k, now)
}

// line gives a key its place in line.
func (m *model) line(k *modelKey, now time.Time) {
	m.nth++
	k.stand, k.lane, k.nth = now, k.priority, m.nth
	round, tenant := m.rounds[k.lane], m.tenantOf(k.key)
	if !slices.ContainsFunc(round, func(t turn) bool { return t.tenant == tenant }) {
		m.rounds[k.lane] = append(round, turn{tenant, m.weight(tenant)})
	}
	k.place = Ready
}

func (m *model) weight(tenant string) int { return cmp.Or(m.weights[tenant], 1) }

// unready takes a key out of the line, and its tenant out of the round if it was
// the last.
func (m *model) unready(k *modelKey) {
	k.place = ""
	if !slices.ContainsFunc(m.readyIn(k.lane), func(o *modelKey) bool { return m.tenantOf(o.key) == m.tenantOf(k.key) }) {
		m.rounds[k.lane] = slices.DeleteFunc(m.rounds[k.lane], func(t turn) bool { return t.tenant == m.tenantOf(k.key) })
	}
}

// readyIn are the ready keys of a priority in the order in which they came.
func (m *model) readyIn(lane int) (keys []*modelKey) {
	for _, k := range m.keys {
		if k.place == Ready && k.lane == lane {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b *modelKey) int { return cmp.Compare(a.nth, b.nth) })
	return keys
}

func (m *model) postpone(k *modelKey, now, due time.Time, replace bool) {
	switch {
	case k.due.IsZero():
		if k.place == "" && len(k.holds) == 0 {
			k.since = now
		}
	case !replace && !due.Before(k.due):
		return
	}
	k.due = due
}

// tick makes ready what is due, and ends the holds whose limit has passed, one
// after the other.
func (m *model) tick() {
	for {
		var first time.Time
		var event func()
		earlier := func(at time.Time) bool {
			return !at.IsZero() && !at.After(time.Now()) && (event == nil || at.Before(first))
		}
		for _, k := range m.keys {
			if earlier(k.due) {
				first, event = k.due, func() { k.due = time.Time{}; m.makeReady(k, first) }
			}
			for _, h := range k.holds {
				if earlier(h.until) {
					first, event = h.until, func() { m.stats.HoldsExpired++; m.release(h, first) }
				}
			}
		}
		if event == nil {
			return
		}
		event()
	}
}

// next is the key that is to be handed out next, nil for none.
func (m *model) next() *modelKey {
	var best *modelKey
	for _, k := range m.keys {
		if k.place != Ready {
			continue
		}
		order := -1
		if best != nil {
			order = cmp.Or(m.rank(k).Compare(m.rank(best)), cmp.Compare(best.lane, k.lane), cmp.Compare(k.nth, best.nth))
		}
		if order < 0 {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	for _, k := range m.readyIn(best.lane) {
		if m.tenantOf(k.key) == m.rounds[best.lane][0].tenant {
			return k
		}
	}
	panic("the first in the round has no key")
}

func (m *model) get() (string, bool) {
	k := m.next()
	if k == nil {
		return "", false
	}
	round := m.rounds[k.lane]
	round[0].left--
	if t := round[0]; t.left == 0 {
		m.rounds[k.lane] = append(slices.Clone(round[1:]), turn{t.tenant, m.weight(t.tenant)})
	}
	m.unready(k)
	if !k.due.IsZero() {
		k.pending = k.priority
	}
	k.place, k.since = Running, time.Now()
	return k.key, true
}
