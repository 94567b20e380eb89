package indexer

import "testing"

// wantSound checks that everything inside the store fits together. Nobody may
// write meanwhile.
func wantSound(t *testing.T, s store) {
	t.Helper()
	c := s.(*Indexer[*thing]).core
	c.writing.Lock()
	defer c.writing.Unlock()

	pinned := c.pins.taken(nil)
	places := map[*bucket[*thing]]map[uint32]*entry[*thing]{}
	stale := map[*bucket[*thing]]int32{}
	entries, live, versions := 0, 0, 0
	for e := range c.entries.walk {
		entries++
		head := e.head.Load()
		if c.entry(e.key, e.hash) != e {
			t.Errorf("the entry of %v cannot be found", e.key)
		}
		if !head.deleted() {
			live++
		} else if head.prev.Load() == nil {
			t.Errorf("the entry of %v is left over", e.key)
		}
		if stamp := e.stamp.Load(); stamp != void && (!c.inline || stamp != head.stamp || e.object.load() != head.object) {
			t.Errorf("the entry of %v has another object than its newest version", e.key)
		}
		for v := head; v != nil; v = v.prev.Load() {
			if versions++; v == head {
				versions--
			}
			if prev := v.prev.Load(); prev != nil && prev.epoch() >= v.epoch() {
				t.Errorf("the versions of %v are of the epochs %d and %d", e.key, v.epoch(), prev.epoch())
			}
			for _, p := range v.postings {
				if places[p.bucket] == nil {
					places[p.bucket] = map[uint32]*entry[*thing]{}
				}
				if at := places[p.bucket][p.place]; at != nil && at != e {
					t.Errorf("%v and %v have the same place", e.key, at.key)
				}
				if places[p.bucket][p.place] == nil && find(head.postings, p.bucket) < 0 {
					stale[p.bucket]++
				}
				places[p.bucket][p.place] = e
			}
		}
	}
	if entries != c.entries.live || live != c.state.Load().len || live != c.live {
		t.Errorf("%d entries and %d objects, want %d, %d", c.entries.live, c.state.Load().len, entries, live)
	}
	if versions != len(c.kept) || int(c.retained.Load()) != len(c.kept) {
		t.Errorf("%d versions are kept, the chains have %d", len(c.kept), versions)
	}
	if most := len(pinned)*entries + sweepSize + 1000; versions > most {
		t.Errorf("%d versions are kept for %d pins and %d entries", versions, len(pinned), entries)
	}
	states := 0
	for st := c.state.Load().prev.Load(); st != nil; st = st.prev.Load() {
		states++
	}
	if states > len(pinned) {
		t.Errorf("%d old states are kept for %d pins", states, len(pinned))
	}
	for _, ix := range c.indexes {
		wantSoundIndex(t, ix, places, stale)
	}
}

func wantSoundIndex(t *testing.T, ix *index[*thing], places map[*bucket[*thing]]map[uint32]*entry[*thing], stale map[*bucket[*thing]]int32) {
	t.Helper()
	buckets, all, room := 0, 0, 0
	for b := range ix.buckets.walk {
		buckets++
		held := 0
		for place := range b.size.Load() {
			e := b.at(place).Load()
			if e != places[b][place] {
				t.Errorf("place %d of %s=%q is wrong", place, ix.name, b.value)
			}
			if e != nil {
				held++
			}
		}
		all += held
		if rest := b.rest.Load(); rest != nil {
			room += len(*rest)
		}
		if held == 0 || held != len(places[b]) || held != int(b.live.Load()) || b.stale.Load() != stale[b] {
			t.Errorf("%s=%q has %d entries and counts %d, %d stale; want %d, %d stale",
				ix.name, b.value, held, b.live.Load(), b.stale.Load(), len(places[b]), stale[b])
		}
		if ix.bucket(b.value) != b {
			t.Errorf("the bucket of %s=%q cannot be found", ix.name, b.value)
		}
	}
	if buckets != ix.buckets.live || buckets != int(ix.values.Load()) || all != int(ix.places.Load()) || room != int(ix.room.Load()) {
		t.Errorf("%s counts %d, %d values, %d places and room for %d; want %d, %d, %d",
			ix.name, ix.buckets.live, ix.values.Load(), ix.places.Load(), ix.room.Load(), buckets, all, room)
	}
	if ix.order == nil {
		return
	}
	ordered, last := 0, ""
	for b := ix.order.first(""); b != nil; b = b.next() {
		if ordered++; ordered > 1 && b.value <= last {
			t.Errorf("%s has %q after %q", ix.name, b.value, last)
		}
		last = b.value
	}
	if ordered != buckets {
		t.Errorf("%s has %d values in order, want %d", ix.name, ordered, buckets)
	}
}
