package informer

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// chunkSize is the number of changes in a chunk, and so the most that
	// a handler which does not return keeps from being used again.
	chunkSize = 128
	// smallChunk is that of a chunk for a few changes after a pause.
	smallChunk = 8
)

// changeLog holds the changes that some listener has yet to read, once for all
// of them. Changes are counted from 0 on: that number is the position of a change.
//
// The controller loop writes a batch with begin, next and publish, and publish
// shows it. Listeners read with a cursor each. A chunk that every cursor has left
// is cleared and used again; where all cursors are at the tail, the log holds
// nothing. No chunk refers to another, so that a listener which is busy with one
// keeps no other.
type changeLog[T any] struct {
	// tail is the position after the last change that can be read.
	tail atomic.Uint64

	// mu is held for a few instructions, and never while anything else is
	// waited for.
	mu sync.Mutex
	// cursors counts the open cursors, and behind those that are not at the tail.
	cursors, behind int
	// chunks are those that are not read by all, and first is the number of the
	// first of them.
	chunks []*chunk[T]
	first  uint64
	// writing is set while the loop writes a batch.
	writing bool

	// The rest is the loop's: the position after what it has written, the chunk
	// that it writes to, and those that are not among chunks yet.
	end   uint64
	last  *chunk[T]
	fresh []*chunk[T]
	// size is that of a new chunk.
	size int

	// free has empty chunks. The garbage collector takes what is not used.
	free sync.Pool
}

// chunk is a row of changes. Those before the tail of the log are not written
// any more.
type chunk[T any] struct {
	// start is the position of the first change.
	start   uint64
	changes []Change[T]
	// cursors counts those whose next change is in the chunk or after its end,
	// and readers those who have been given a part of it. retired is set when it
	// is not in the log any more. The log's lock guards them.
	cursors, readers int
	retired          bool
}

// end is the position after the last place in the chunk.
func (k *chunk[T]) end() uint64 { return k.start + uint64(len(k.changes)) }

// cursor is the place up to which a listener has read. The log's lock guards it,
// but anybody may load at.
type cursor struct {
	// at is the position of the next change to read.
	at atomic.Uint64
	// chunk is the number of the chunk in which the cursor counts. If that is not
	// in the log any more, the next change is the first that is.
	chunk uint64
}

// begin begins to write a batch of at most n changes. Nobody but the loop writes.
func (g *changeLog[T]) begin(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing = true
	g.end, g.last, g.size = g.tail.Load(), nil, chunkSize
	if len(g.chunks) > 0 {
		g.last = g.chunks[len(g.chunks)-1]
	} else if n <= smallChunk {
		g.size = smallChunk
	}
}

// next returns the place for one more change of the batch.
func (g *changeLog[T]) next() *Change[T] {
	if g.last == nil || g.end == g.last.end() {
		g.last = g.chunk()
		g.fresh = append(g.fresh, g.last)
	}
	c := &g.last.changes[g.end-g.last.start]
	g.end++
	return c
}

func (g *changeLog[T]) chunk() *chunk[T] {
	k, _ := g.free.Get().(*chunk[T])
	if k == nil {
		k = &chunk[T]{changes: make([]Change[T], g.size)}
	}
	k.start, g.size = g.end, chunkSize
	return k
}

// publish shows the batch, and returns the position of its first change.
func (g *changeLog[T]) publish() (start uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing = false
	start = g.tail.Load()
	if len(g.chunks) == 0 && len(g.fresh) > 0 {
		g.fresh[0].cursors = g.cursors
	}
	g.chunks = append(g.chunks, g.fresh...)
	clear(g.fresh)
	g.fresh, g.last = g.fresh[:0], nil
	if g.end > start {
		g.behind = g.cursors
		g.tail.Store(g.end)
	}
	g.trim()
	return start
}

// open puts a cursor at the tail. It must not be open. The caller sees to it that
// no batch is being written.
func (g *changeLog[T]) open(c *cursor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cursors++
	c.at.Store(g.tail.Load())
	c.chunk = g.first
	if n := len(g.chunks); n > 0 {
		c.chunk += uint64(n - 1)
		g.chunks[n-1].cursors++
	}
}

// close ends an open cursor.
func (g *changeLog[T]) close(c *cursor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cursors--
	if c.at.Load() != g.tail.Load() {
		g.behind--
	}
	if len(g.chunks) > 0 {
		g.at(c).cursors--
	}
	g.trim()
}

// at returns the chunk in which a cursor counts, of which there must be one. The
// caller holds mu.
func (g *changeLog[T]) at(c *cursor) *chunk[T] {
	c.chunk = max(c.chunk, g.first)
	return g.chunks[c.chunk-g.first]
}

// read returns the changes that follow, n at most, and moves the cursor past
// them; nil if there are none. They stay as they are until the chunk, which is
// returned with them, is given back as done of another read, or to release. done
// may be nil.
func (g *changeLog[T]) read(c *cursor, n uint64, done *chunk[T]) ([]Change[T], *chunk[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave(done)
	at, tail := c.at.Load(), g.tail.Load()
	if at == tail {
		return nil, nil
	}
	k := g.at(c)
	if at == k.end() {
		k.cursors--
		c.chunk++
		k = g.at(c)
		k.cursors++
	}
	end := min(at+n, tail, k.end())
	k.readers++
	c.at.Store(end)
	if end == tail {
		g.behind--
	}
	g.trim()
	return k.changes[at-k.start : end-k.start : end-k.start], k
}

// release gives back the chunk of a read.
func (g *changeLog[T]) release(k *chunk[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave(k)
}

// leave ends a use of a chunk. The caller holds mu.
func (g *changeLog[T]) leave(k *chunk[T]) {
	if k == nil {
		return
	}
	k.readers--
	if k.retired && k.readers == 0 {
		g.recycle(k)
	}
}

// trim takes the chunks out that nobody has yet to read. The caller holds mu.
func (g *changeLog[T]) trim() {
	n := 0
	for n < len(g.chunks)-1 && g.chunks[n].cursors == 0 {
		n++
	}
	if g.behind == 0 && !g.writing {
		n = len(g.chunks)
	}
	if n == 0 {
		return
	}
	for _, k := range g.chunks[:n] {
		if k.retired = true; k.readers == 0 {
			g.recycle(k)
		}
	}
	g.first += uint64(n)
	g.chunks = slices.Delete(g.chunks, 0, n)
	if cap(g.chunks) > idleChunks && len(g.chunks) < cap(g.chunks)/4 {
		g.chunks = append([]*chunk[T](nil), g.chunks...)
	}
}

// idleChunks is the number of places for chunks that a log keeps in any case.
const idleChunks = 16

// recycle empties a chunk and keeps it for use again. The caller holds mu.
func (g *changeLog[T]) recycle(k *chunk[T]) {
	written := min(uint64(len(k.changes)), g.tail.Load()-k.start)
	clear(k.changes[:written])
	k.start, k.cursors, k.retired = 0, 0, false
	g.free.Put(k)
}
