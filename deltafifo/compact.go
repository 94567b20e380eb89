package deltafifo

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// fate says what a compaction does with one delta.
type fate uint8

const (
	drop fate = iota
	keep
	keepAsAdded
	keepAsUpdated
	keepAsBookmark // of a dropped delta only its version stays
)

// fold is what a stretch between two Replaced deltas says about one key. The
// numbers are places in the queue, -1 for none.
type fold struct {
	// firstDelete ends what was there before the stretch.
	firstDelete int
	// live is the newest state, if the object lives at the end.
	live int
	// uid and version are those of the newest state so far.
	uid     types.UID
	version string
	// added is set if the newest state is that of another object than the
	// one that was there before, if one was.
	added bool
}

// compaction decides about every delta before any is moved, so that a panic of
// Holds leaves the queue as it was.
type compaction[T any] struct {
	q      *DeltaFIFO[T]
	queued []Delta[T]
	fates  []fate
	// earlier has the keys of what stays before place upto; made when first
	// needed.
	earlier map[types.NamespacedName]struct{}
	upto    int
}

// compact drops what a newer delta of the same key makes needless. What stays
// keeps its order.
func (q *DeltaFIFO[T]) compact() {
	queued := q.buf.queued()
	c := compaction[T]{q: q, queued: queued, fates: make([]fate, len(queued))}
	for start := 0; start < len(queued); {
		end := start
		for end < len(queued) && queued[end].Type != Replaced {
			end++
		}
		c.decide(start, end)
		if end < len(queued) {
			c.fates[end] = keep
			end++
		}
		start = end
	}
	kept := c.carryOut()
	dropped := len(queued) - kept
	q.buf.truncate(kept)
	q.weight -= dropped
	q.fresh = 0
	q.compactions++
	q.compacted += uint64(dropped)
	if dropped == 0 {
		return
	}
	q.whole = kept
	q.dropped += dropped
	if kept == 0 {
		q.vanish()
	}
}

// vanish counts deltas as popped that nobody will pop.
func (q *DeltaFIFO[T]) vanish() {
	q.popped += uint64(q.dropped)
	q.dropped = 0
	if q.batch == nil {
		q.acknowledged()
	}
}

// decide sets the fates of the stretch [start, end), which has no Replaced.
func (c *compaction[T]) decide(start, end int) {
	for _, f := range c.fold(start, end) {
		if f.firstDelete >= 0 && c.mayHold(c.queued[f.firstDelete].Key, start) {
			c.fates[f.firstDelete] = keep
		}
		if f.live < 0 {
			continue
		}
		c.fates[f.live] = keepAsUpdated
		if f.added {
			c.fates[f.live] = keepAsAdded
		}
	}
	// The newest version of the stretch must arrive even if its delta does
	// not; all older bookmarks are covered by it.
	newest := -1
	for i := start; i < end; i++ {
		version := c.queued[i].Version
		if version != "" && (newest < 0 || !older(version, c.queued[newest].Version)) {
			newest = i
		}
	}
	if newest >= 0 && c.fates[newest] == drop {
		c.fates[newest] = keepAsBookmark
	}
}

// older reports whether version a is older than b. Where versions do not
// compare, the order of arrival decides, and it is not.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// fold gathers what the stretch says about each key.
func (c *compaction[T]) fold(start, end int) []fold {
	var folds []fold
	byKey := make(map[types.NamespacedName]int)
	for i := start; i < end; i++ {
		d := &c.queued[i]
		if d.Type == Bookmark {
			continue
		}
		at, known := byKey[d.Key]
		if !known {
			at = len(folds)
			byKey[d.Key] = at
			folds = append(folds, fold{firstDelete: -1, live: -1, uid: d.UID, added: d.Type == Added})
		}
		f := &folds[at]
		if older(d.Version, f.version) {
			continue
		}
		f.version = d.Version
		if d.UID != f.uid {
			f.uid = d.UID
			f.added = true
		}
		if d.Type != Deleted {
			f.live = i
			continue
		}
		f.live = -1
		f.added = true
		if f.firstDelete < 0 {
			f.firstDelete = i
		}
	}
	return folds
}

// mayHold reports whether the consumer may hold an object under key when it
// comes to the stretch that begins at start. If it cannot, a Deleted in that
// stretch tells it nothing.
func (c *compaction[T]) mayHold(key types.NamespacedName, start int) bool {
	if c.q.opts.Holds == nil {
		return true
	}
	if start > 0 {
		if c.earlier == nil {
			c.earlier = make(map[types.NamespacedName]struct{})
		}
		for ; c.upto < start; c.upto++ {
			if fate := c.fates[c.upto]; fate != drop && fate != keepAsBookmark {
				c.queued[c.upto].addKeys(c.earlier)
			}
		}
		if _, found := c.earlier[key]; found {
			return true
		}
	}
	// The batch in flight may or may not have reached the store.
	if _, found := c.q.keysInFlight()[key]; found {
		return true
	}
	return c.q.opts.Holds(key)
}

// keysInFlight returns the keys of the batch in flight. They are gathered once
// for each batch: a large one must not be gone through at every compaction.
func (q *DeltaFIFO[T]) keysInFlight() map[types.NamespacedName]struct{} {
	if q.inFlight == nil && len(q.batch) > 0 {
		q.inFlight = make(map[types.NamespacedName]struct{}, len(q.batch))
		for i := range q.batch {
			q.batch[i].addKeys(q.inFlight)
		}
	}
	return q.inFlight
}

// addKeys adds the keys that the delta is about.
func (d *Delta[T]) addKeys(keys map[types.NamespacedName]struct{}) {
	switch d.Type {
	case Added, Updated, Deleted:
		keys[d.Key] = struct{}{}
	case Replaced:
		for i := range d.Items {
			keys[d.Items[i].Key] = struct{}{}
		}
	}
}

// carryOut moves what stays to the front and returns how many they are.
func (c *compaction[T]) carryOut() int {
	kept := 0
	for i, fate := range c.fates {
		d := &c.queued[i]
		switch fate {
		case drop:
			continue
		case keepAsAdded:
			d.Type = Added
		case keepAsUpdated:
			d.Type = Updated
		case keepAsBookmark:
			*d = Delta[T]{Type: Bookmark, Version: d.Version}
		}
		if kept != i {
			c.queued[kept] = *d
		}
		kept++
	}
	return kept
}
