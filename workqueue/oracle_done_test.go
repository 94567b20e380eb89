package workqueue

import (
	"maps"
	"slices"
	"time"
)

// done ends a run. retry is when the queue has scheduled a failed key.
func (m *model) done(key string, result Result, retry time.Time) bool {
	k, now := m.keys[key], time.Now()
	if k == nil || k.place != Running {
		m.stats.Strays++
		return false
	}
	m.stats.Done++
	retries := !result.Drop && (result.Err != nil || result.After != 0)
	switch {
	case k.pursued() && retries:
		k.priority = max(k.priority, k.pending)
	case k.pursued():
		k.priority = k.pending
	}
	if result.Err != nil {
		m.stats.Failures++
	}
	k.fails++
	if result.Err == nil || result.Drop {
		k.fails = 0
	}
	if result.Drop {
		m.stats.GivenUp++
	}
	k.place, k.since = "", now
	again := k.again || k.patient && k.fails == 0
	k.again, k.patient = false, false
	switch {
	case again:
		m.makeReady(k, now)
	case m.phase != open:
		if k.fails > 0 {
			m.stats.Dropped++
		}
		delete(m.keys, key)
	case !retries:
		m.leave(k)
	default:
		if k.fails > 0 {
			m.stats.Retries++
		}
		if result.After < 0 {
			k.due = time.Time{}
			m.makeReady(k, now)
		} else if result.After > 0 {
			m.postpone(k, now, now.Add(result.After), false)
		} else {
			m.postpone(k, now, retry, false)
		}
	}
	return true
}

// leave lets a key go that nothing keeps.
func (m *model) leave(k *modelKey) {
	if k.place == "" && !k.pursued() && len(k.holds) == 0 {
		delete(m.keys, k.key)
	}
}

func (m *model) cancel(key string) bool {
	k := m.keys[key]
	if k == nil || k.due.IsZero() {
		return false
	}
	k.due = time.Time{}
	m.leave(k)
	return true
}

func (m *model) hold(key string, limit time.Duration) *modelHold {
	k, now := m.keys[key], time.Now()
	if m.phase == closed || m.phase == draining && k == nil {
		return nil
	}
	if k == nil {
		k = &modelKey{key: key}
		m.keys[key] = k
	}
	if k.place != Running && len(k.holds) == 0 {
		k.since = now
	}
	if k.place == Ready {
		m.unready(k)
		k.again = true
	}
	h := &modelHold{until: now.Add(limit), key: k}
	k.holds = append(k.holds, h)
	return h
}

func (m *model) release(h *modelHold, now time.Time) {
	k := h.key
	if m.keys[k.key] != k || !slices.Contains(k.holds, h) {
		return
	}
	k.holds = slices.DeleteFunc(k.holds, func(o *modelHold) bool { return o == h })
	if len(k.holds) > 0 || k.place == Running {
		return
	}
	if k.again {
		m.makeReady(k, now)
	}
	m.leave(k)
}

func (m *model) drain(mode DrainMode) {
	m.phase = max(m.phase, draining)
	for {
		var first *modelKey
		for _, k := range m.keys {
			if !k.due.IsZero() && (first == nil || k.due.Before(first.due)) {
				first = k
			}
		}
		if first == nil {
			break
		}
		if mode == DropDelayed {
			m.stats.Dropped++
			m.cancel(first.key)
		} else {
			first.due = time.Time{}
			m.makeReady(first, time.Now())
		}
	}
	maps.DeleteFunc(m.keys, func(_ string, k *modelKey) bool { return k.place == "" && !k.pursued() })
	m.closeIfIdle()
}

func (m *model) close() {
	if m.phase == closed {
		return
	}
	m.phase = closed
	for key, k := range m.keys {
		if k.place == Ready || k.pursued() {
			m.stats.Dropped++
		}
		k.again, k.patient, k.due, k.holds = false, false, time.Time{}, nil
		if k.place != Running {
			delete(m.keys, key)
		}
	}
	m.rounds = map[int][]turn{}
}

func (m *model) closeIfIdle() {
	if m.phase == draining && len(m.keys) == 0 {
		m.phase = closed
	}
}

// running are the running keys, in order of their names.
func (m *model) running() (keys []string) {
	for key, k := range m.keys {
		if k.place == Running {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
