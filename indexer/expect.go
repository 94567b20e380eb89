package indexer

import "k8s.io/apimachinery/pkg/types"

// expectSize is the number of keys that are looked up in one go. What they lead to
// stays in a processor's cache until it is used.
const expectSize = 64

// Expect says which keys the transaction is going to look at or write. It changes
// nothing, and does nothing once the transaction has ended.
func (t *tx[T]) Expect(keys []types.NamespacedName) {
	for len(keys) > 0 && !t.done && t.core.entries.live > 0 {
		n := min(len(keys), expectSize)
		t.core.scratch.sum += t.core.expect(keys[:n])
		keys = keys[n:]
	}
}

// expect reads what writes of some keys are going to read. A write goes from the
// table to the entry, its version, postings and buckets, and waits for memory at each
// step. One step for all keys at a time, a processor waits for many at once.
//
// The sum means nothing: it keeps the compiler from leaving out the reading.
func (c *core[T]) expect(keys []types.NamespacedName) (sum int) {
	var hashes [expectSize]uint32
	var groups [expectSize]*group[entry[T]]
	for i := range keys {
		hashes[i] = c.hash(keys[i])
	}
	all := *c.entries.groups.Load()
	for i := range keys {
		groups[i] = &all[home(hashes[i], len(all))]
		sum += int(groups[i].control.Load())
	}
	// Who looks only at the first entry that has the tag is right nearly always.
	var found [expectSize]*entry[T]
	n := 0
	for i := range keys {
		if m := matches(groups[i].control.Load(), hashes[i]); m != 0 {
			found[n] = groups[i].slots[slotOf(m)].Load()
			n++
		}
	}
	return sum + expectVersions(found[:n])
}

func expectVersions[T any](entries []*entry[T]) (sum int) {
	var versions [expectSize]*version[T]
	for i, e := range entries {
		versions[i] = e.head.Load()
	}
	for i, e := range entries {
		sum += last(e.key.Name) + len(versions[i].postings)
	}
	for _, v := range versions[:len(entries)] {
		for i := range v.postings {
			sum += len(v.postings[i].bucket.value)
		}
		sum += last(v.version) + last(string(v.uid))
	}
	for _, v := range versions[:len(entries)] {
		for i := range v.postings {
			sum += last(v.postings[i].bucket.value)
		}
	}
	return sum
}

// last reads the last byte of a text.
func last(text string) int {
	if text == "" {
		return 0
	}
	return int(text[len(text)-1])
}
