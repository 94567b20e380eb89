package workqueue

import (
	"testing"
	"time"
)

// audit checks everything that must be true of the inside of a queue whenever its
// lock is free.
func audit[K comparable](t *testing.T, q *Queue[K]) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	items := map[place]int{}
	var held, lanes int
	refs := map[*lane[K]]int{}
	q.table.all(func(it *item[K]) {
		items[it.place]++
		refs[it.lane]++
		if it.place == aside && it.holds != nil {
			held++
		}
		switch {
		case q.table.find(it.hash, it.key) != it:
			t.Fatalf("%v is not found", it.key)
		case it.place == aside && it.holds == nil && it.slot == 0:
			t.Fatalf("%v is neither delayed nor held, and stays", it.key)
		case it.want != nothing && it.place != running && it.holds == nil:
			t.Fatalf("%v is wanted, and nothing keeps it", it.key)
		case it.place == ready && (it.want != nothing || it.holds != nil):
			t.Fatalf("%v is ready, and more", it.key)
		case (it.failures > 0) != (it.err != nil):
			t.Fatalf("%v has failed %d times with %v", it.key, it.failures, it.err)
		}
		for h := it.holds; h != nil; h = h.next {
			if h.it != it || h.next != nil && h.next.prev != h || h == it.holds && h.prev != nil {
				t.Fatalf("%v has the hold of another", it.key)
			}
		}
	})
	for l, n := range refs {
		if l == q.ready.base {
			continue
		}
		if l.keys != n || q.ready.byID[l.id] != l {
			t.Fatalf("lane %v: %d keys, want %d", l.id, l.keys, n)
		}
		lanes++
	}
	sum := items[aside] + items[ready] + items[running]
	if q.table.len != sum || q.ready.len != items[ready] || q.running.len != items[running] || q.held.len != held ||
		len(q.ready.byID) != lanes {
		t.Fatalf("%d keys, %d ready, %d running, %d held, %d lanes, want %v, %d held, %d lanes",
			q.table.len, q.ready.len, q.running.len, q.held.len, len(q.ready.byID), items, held, lanes)
	}
	inOrder(t, &q.delays)
	inOrder(t, &q.holds)
	inOrder(t, &q.ready.order)
	auditLanes(t, &q.ready)
	for _, next := range []func() (time.Duration, bool){q.delays.next, q.holds.next} {
		if at, ok := next(); ok && q.phase != closed && (q.alarm.at == 0 || q.alarm.at > at) {
			t.Fatalf("the alarm is set for %v, something is due at %v", q.alarm.at, at)
		}
	}
}

// inOrder checks that a heap is one.
func inOrder[E slotted](t *testing.T, h *heap[E]) {
	t.Helper()
	for i := range h.entries {
		if e := &h.entries[i]; int(*e.of.heapSlot()) != i+1 || i > 0 && e.before(&h.entries[(i-1)/2]) {
			t.Fatalf("a heap is out of order at %d", i)
		}
	}
}

func auditLanes[K comparable](t *testing.T, ls *lanes[K]) {
	t.Helper()
	sum := 0
	inRound := map[*round[K]]int{}
	for i := range ls.order.entries {
		l := ls.order.entries[i].of
		sum += l.len
		if l.round != nil {
			inRound[l.round]++
		}
		if l.len == 0 || ls.order.entries[i].at != ls.rank(l) {
			t.Fatalf("lane %v stands at a wrong place", l.id)
		}
		n := 0
		for it := l.head; it != nil; it = it.next {
			n++
			if it.place != ready || it.lane != l || it.priority < l.id.priority || it.next != nil && it.next.stamp < it.stamp {
				t.Fatalf("lane %v: %v is wrong there", l.id, it.key)
			}
		}
		if n != l.len {
			t.Fatalf("lane %v: %d keys, want %d", l.id, l.len, n)
		}
	}
	if sum != ls.len {
		t.Fatalf("%d ready keys in lanes, want %d", sum, ls.len)
	}
	for _, r := range ls.rounds {
		n := 0
		for l := r.head; l != nil; {
			n++
			if l.turns < 1 || l.turns > ls.weight(l.id.tenant) || l.next.prev != l {
				t.Fatalf("lane %v is wrong in its round", l.id)
			}
			if l = l.next; l == r.head {
				break
			}
		}
		if n != inRound[r] {
			t.Fatalf("%d lanes in a round, want %d", n, inRound[r])
		}
	}
}
