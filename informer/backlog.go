package informer

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// backlog is what one listener has yet to take. In order:
//
//   - what it was given and has given back;
//   - changes that were folded, up to the position of the walk, if there is one;
//   - changes in the log, up to there;
//   - the walk;
//   - changes that were folded and come after the walk;
//   - changes in the log.
//
// While anything is folded, the log has nothing for it. The listener's lock guards
// it; the loop loads cursor.at and folding without.
type backlog[T any] struct {
	log    *changeLog[T]
	cursor cursor
	// closed is set when nothing will be taken any more.
	closed bool

	rest          []Change[T]
	folded, later *folded[T]
	walk          *walk[T]
	// folding is set while something is folded.
	folding atomic.Bool

	// held is the chunk that what was taken last is part of; nil if it is not
	// from the log.
	held *chunk[T]
	// out is set while something was taken, or given back, that may not have
	// been told; outAt is its position.
	out   bool
	outAt uint64
}

// take removes up to chunkSize changes from the front and returns them; nil if
// there are none. It takes none from the log that are at until or after it together
// with those before. It says that what was taken before has been told, or given
// back. A walk that has come to its end is returned, to be ended.
func (b *backlog[T]) take(until uint64) (changes []Change[T], ended *walk[T]) {
	if b.rest != nil {
		changes, b.rest = b.rest, nil
		return changes, nil
	}
	b.out = false
	if b.closed {
		return nil, nil
	}
	for changes == nil {
		if b.folded.len() > 0 {
			b.release()
			b.taken(b.folded.position())
			changes = b.folded.take(chunkSize)
			break
		}
		b.folded = nil
		if changes = b.takeLogged(until); changes != nil || b.walk == nil {
			break
		}
		b.taken(b.walk.at)
		if changes = b.walk.next(); len(changes) == 0 {
			changes, b.out = nil, false
			b.folded, b.later = b.later, nil
			ended, b.walk = b.walk, nil
		}
	}
	b.folding.Store(b.folded != nil || b.later != nil)
	return changes, ended
}

// takeLogged takes from the log what comes before the walk, if there is one, and
// on one side of until.
func (b *backlog[T]) takeLogged(until uint64) (changes []Change[T]) {
	at, n := b.cursor.at.Load(), uint64(chunkSize)
	if b.walk != nil {
		if b.walk.at <= at {
			b.release()
			return nil
		}
		n = min(n, b.walk.at-at)
	}
	if until > at {
		n = min(n, until-at)
	}
	if changes, b.held = b.log.read(&b.cursor, n, b.held); changes != nil {
		b.taken(at)
	}
	return changes
}

func (b *backlog[T]) taken(at uint64) { b.out, b.outAt = true, at }

// giveBack puts changes that were taken last and not told back to the front.
func (b *backlog[T]) giveBack(rest []Change[T]) {
	if len(rest) > 0 && !b.closed {
		b.rest = slices.Clone(rest)
	}
	b.release()
}

// release gives up what was taken last.
func (b *backlog[T]) release() {
	if b.held == nil {
		return
	}
	b.log.release(b.held)
	b.held = nil
}

// fold folds all that the log has.
func (b *backlog[T]) fold() {
	for {
		into, at, n := &b.folded, b.cursor.at.Load(), uint64(chunkSize)
		switch {
		case b.walk == nil:
		case b.walk.at > at:
			n = min(n, b.walk.at-at)
		default:
			into = &b.later
		}
		changes, k := b.log.read(&b.cursor, n, nil)
		if changes == nil {
			return
		}
		if *into == nil {
			*into = newFolded[T]()
			b.folding.Store(true)
		}
		for i := range changes {
			(*into).add(&changes[i], at+uint64(i))
		}
		b.log.release(k)
	}
}

// close drops everything but what was taken last, and returns the walk that was
// under way, to be ended.
func (b *backlog[T]) close() (ended *walk[T]) {
	if b.closed {
		return nil
	}
	b.log.close(&b.cursor)
	ended = b.walk
	b.closed, b.rest, b.folded, b.later, b.walk = true, nil, nil, nil, nil
	b.folding.Store(false)
	return ended
}

// told returns the position of the first change that may not have been told.
func (b *backlog[T]) told() uint64 {
	switch {
	case b.out:
		return b.outAt
	case b.folded.len() > 0:
		return b.folded.position()
	case b.walk == nil:
		return b.cursor.at.Load()
	}
	return min(b.walk.at, b.cursor.at.Load())
}

// unread is the number of changes in the log.
func (b *backlog[T]) unread() int {
	if b.closed {
		return 0
	}
	return int(b.log.tail.Load() - b.cursor.at.Load())
}

// len is the number of changes and objects that wait.
func (b *backlog[T]) len() int {
	n := len(b.rest) + b.unread() + b.folded.len() + b.later.len()
	if b.walk != nil {
		n += b.walk.left
	}
	return n
}

// empty reports whether nothing waits.
func (b *backlog[T]) empty() bool {
	return b.closed || b.rest == nil && b.walk == nil && b.folded.len() == 0 && b.later.len() == 0 && b.unread() == 0
}

// bytes estimates the memory that the backlog keeps from being used otherwise,
// beside objects.
func (b *backlog[T]) bytes() int64 {
	n := b.unread() + len(b.rest)
	if b.walk != nil {
		n += cap(b.walk.changes)
	}
	if b.held != nil {
		n += len(b.held.changes)
	}
	return int64(n)*int64(unsafe.Sizeof(Change[T]{})) + b.folded.bytes() + b.later.bytes()
}
