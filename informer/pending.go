package informer

import (
	"container/list"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// takeAtMost bounds how many changes a listener takes at once, and so how many
// are out of reach of folding while a handler blocks.
const takeAtMost = 128

// idleBatches is the number of slots for batches that an idle listener keeps.
const idleBatches = 64

// pending holds what one listener has yet to deliver. Batches are shared with
// the other listeners and kept as they came until they are too many; then they
// are folded to what still matters of each key. Its owner, the listener, guards
// it with a lock.
type pending[T any] struct {
	batches [][]Change[T]
	// head is the first batch that is left; those before it are nil.
	head int
	// count is the number of changes in batches.
	count int
	// folded is not nil while changes are folded. It precedes batches, which
	// are empty then.
	folded *folded[T]
	// initial is the number of changes marked Initial that were pushed and not
	// yet delivered.
	initial int
}

// len is the number of changes that wait.
func (p *pending[T]) len() int {
	if p.folded != nil {
		return p.folded.len()
	}
	return p.count
}

// push appends a batch. If more than limit changes wait already, all are folded.
func (p *pending[T]) push(batch []Change[T], limit int) {
	if p.folded == nil && p.count <= limit {
		p.append(batch)
		return
	}
	if p.folded == nil {
		p.folded = newFolded[T]()
		for _, b := range p.batches[p.head:] {
			p.fold(b)
		}
		p.batches, p.head, p.count = nil, 0, 0
	}
	p.fold(batch)
}

// append appends a batch. Where half of the slots were emptied, it moves the
// others there instead of growing: a listener that keeps a distance does not
// allocate.
func (p *pending[T]) append(batch []Change[T]) {
	if len(p.batches) == cap(p.batches) && p.head > len(p.batches)/2 {
		left := copy(p.batches, p.batches[p.head:])
		clear(p.batches[left:])
		p.batches, p.head = p.batches[:left], 0
	}
	p.batches = append(p.batches, batch)
	p.count += len(batch)
}

func (p *pending[T]) fold(batch []Change[T]) {
	for i := range batch {
		if p.folded.add(&batch[i]) {
			p.initial--
		}
	}
}

// take removes up to takeAtMost changes from the front and returns them; nil if
// there are none.
func (p *pending[T]) take() []Change[T] {
	if p.folded != nil {
		out := p.folded.take(takeAtMost)
		if p.folded.len() == 0 {
			p.folded = nil
		}
		return out
	}
	if p.count == 0 {
		return nil
	}
	first := p.batches[p.head]
	n := min(len(first), takeAtMost)
	p.count -= n
	if n < len(first) {
		p.batches[p.head] = first[n:]
		return first[:n:n]
	}
	p.batches[p.head] = nil
	p.head++
	if p.count == 0 {
		p.batches, p.head = p.batches[:0], 0
		if cap(p.batches) > idleBatches {
			p.batches = nil
		}
	}
	return first
}

// giveBack puts changes that were taken and not delivered back to the front.
func (p *pending[T]) giveBack(rest []Change[T]) {
	if len(rest) == 0 {
		return
	}
	if p.folded == nil {
		p.batches = slices.Insert(p.batches[p.head:], 0, rest)
		p.head = 0
		p.count += len(rest)
		return
	}
	later := p.folded
	p.folded = newFolded[T]()
	p.fold(rest)
	for c := range later.all() {
		if p.folded.add(c) {
			p.initial--
		}
	}
}

// folded keeps, for each key, the one or two changes that lead from the state
// last told to the newest: at most a delete of what was told, then the newest
// state of what is there.
type folded[T any] struct {
	byKey map[types.NamespacedName]*list.Element
	// order holds *foldedKey[T] by each key's first pending change.
	order *list.List
	count int
}

type foldedKey[T any] struct {
	gone    Change[T] // Deleted
	current Change[T] // Added or Updated
	hasGone bool
	hasCurr bool
}

func newFolded[T any]() *folded[T] {
	return &folded[T]{byKey: make(map[types.NamespacedName]*list.Element), order: list.New()}
}

func (f *folded[T]) len() int { return f.count }

// add folds one more change in. It reports whether an Added marked Initial
// vanished because the object is gone before anyone was told of it.
func (f *folded[T]) add(c *Change[T]) (initialVanished bool) {
	el, ok := f.byKey[c.Key]
	if !ok {
		el = f.order.PushBack(&foldedKey[T]{})
		f.byKey[c.Key] = el
	}
	k := el.Value.(*foldedKey[T])
	before := k.len()
	switch c.Type {
	case deltafifo.Added:
		k.current, k.hasCurr = *c, true
	case deltafifo.Updated:
		k.update(c)
	case deltafifo.Deleted:
		initialVanished = k.delete(c)
	}
	f.count += k.len() - before
	if k.len() == 0 {
		f.order.Remove(el)
		delete(f.byKey, c.Key)
	}
	return initialVanished
}

func (k *foldedKey[T]) len() int {
	n := 0
	if k.hasGone {
		n++
	}
	if k.hasCurr {
		n++
	}
	return n
}

// update makes c the newest state, told as the step from what was told last.
func (k *foldedKey[T]) update(c *Change[T]) {
	if !k.hasCurr {
		k.current, k.hasCurr = *c, true
		return
	}
	merged := *c
	merged.Type, merged.Old, merged.Initial = k.current.Type, k.current.Old, k.current.Initial
	merged.Resync = c.Resync && k.current.Resync
	k.current = merged
}

// delete ends the object. What was never told vanishes with it.
func (k *foldedKey[T]) delete(c *Change[T]) (initialVanished bool) {
	switch {
	case !k.hasCurr:
		k.gone, k.hasGone = *c, true
	case k.current.Type == deltafifo.Updated:
		k.gone, k.hasGone = *c, true
		k.gone.Old = k.current.Old
	default:
		initialVanished = k.current.Initial
	}
	k.current, k.hasCurr = Change[T]{}, false
	return initialVanished
}

// take removes the changes of the oldest keys, up to n (or n+1, as the changes
// of one key stay together).
func (f *folded[T]) take(n int) []Change[T] {
	out := make([]Change[T], 0, min(n+1, f.count))
	for len(out) < n && f.order.Len() > 0 {
		k := f.order.Remove(f.order.Front()).(*foldedKey[T])
		if k.hasGone {
			out = append(out, k.gone)
		}
		if k.hasCurr {
			out = append(out, k.current)
		}
		delete(f.byKey, out[len(out)-1].Key)
	}
	f.count -= len(out)
	return out
}

// all yields the changes in order.
func (f *folded[T]) all() func(yield func(*Change[T]) bool) {
	return func(yield func(*Change[T]) bool) {
		for el := f.order.Front(); el != nil; el = el.Next() {
			k := el.Value.(*foldedKey[T])
			if k.hasGone && !yield(&k.gone) {
				return
			}
			if k.hasCurr && !yield(&k.current) {
				return
			}
		}
	}
}
