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
	batches []stamped[T]
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
	// pushed counts the batches that were pushed. A change is stamped with the
	// count at its push, or, once it is folded, at that of the first change of
	// its key that is pending. What is taken has the stamps from out on; 0 means
	// that nothing is out.
	pushed, out uint64
}

// stamped is a batch with the count at its push.
type stamped[T any] struct {
	changes []Change[T]
	stamp   uint64
}

// told returns the count of the batches that were told to their end. What is
// taken counts as not told.
func (p *pending[T]) told() uint64 {
	switch {
	case p.out != 0:
		return p.out - 1
	case p.len() == 0:
		return p.pushed
	case p.folded != nil:
		return p.folded.first() - 1
	}
	return p.batches[p.head].stamp - 1
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
	p.pushed++
	if p.folded == nil && p.count <= limit {
		p.append(batch)
		return
	}
	if p.folded == nil {
		p.folded = newFolded[T]()
		for _, b := range p.batches[p.head:] {
			p.fold(b.changes, b.stamp)
		}
		p.batches, p.head, p.count = nil, 0, 0
	}
	p.fold(batch, p.pushed)
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
	p.batches = append(p.batches, stamped[T]{batch, p.pushed})
	p.count += len(batch)
}

func (p *pending[T]) fold(batch []Change[T], stamp uint64) {
	for i := range batch {
		if p.folded.add(&batch[i], stamp) {
			p.initial--
		}
	}
}

// take removes up to takeAtMost changes from the front and returns them; nil if
// there are none.
func (p *pending[T]) take() []Change[T] {
	p.out = 0
	if p.folded != nil {
		if p.folded.len() > 0 {
			p.out = p.folded.first()
		}
		out := p.folded.take(takeAtMost)
		if p.folded.len() == 0 {
			p.folded = nil
		}
		return out
	}
	if p.count == 0 {
		return nil
	}
	p.out = p.batches[p.head].stamp
	first := p.batches[p.head].changes
	n := min(len(first), takeAtMost)
	p.count -= n
	if n < len(first) {
		p.batches[p.head].changes = first[n:]
		return first[:n:n]
	}
	p.batches[p.head] = stamped[T]{}
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
	stamp := p.out
	p.out = 0
	if p.folded == nil {
		p.batches = slices.Insert(p.batches[p.head:], 0, stamped[T]{rest, stamp})
		p.head = 0
		p.count += len(rest)
		return
	}
	later := p.folded
	p.folded = newFolded[T]()
	p.fold(rest, stamp)
	for c, stamp := range later.all() {
		if p.folded.add(c, stamp) {
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
	// stamp is that of the first change of the key that is pending.
	stamp uint64
}

func newFolded[T any]() *folded[T] {
	return &folded[T]{byKey: make(map[types.NamespacedName]*list.Element), order: list.New()}
}

func (f *folded[T]) len() int { return f.count }

// first returns the lowest stamp. There must be a change.
func (f *folded[T]) first() uint64 { return f.order.Front().Value.(*foldedKey[T]).stamp }

// add folds one more change in. It reports whether an Added marked Initial
// vanished because the object is gone before anyone was told of it.
func (f *folded[T]) add(c *Change[T], stamp uint64) (initialVanished bool) {
	el, ok := f.byKey[c.Key]
	if !ok {
		el = f.order.PushBack(&foldedKey[T]{stamp: stamp})
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

// all yields the changes in order, with their stamps.
func (f *folded[T]) all() func(yield func(*Change[T], uint64) bool) {
	return func(yield func(*Change[T], uint64) bool) {
		for el := f.order.Front(); el != nil; el = el.Next() {
			k := el.Value.(*foldedKey[T])
			if k.hasGone && !yield(&k.gone, k.stamp) {
				return
			}
			if k.hasCurr && !yield(&k.current, k.stamp) {
				return
			}
		}
	}
}
