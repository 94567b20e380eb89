package informer

import (
	"fmt"
	"time"

	"heliograph.example/deltafifo"
	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// Status is the state of an informer at one moment.
type Status struct {
	// Name is that of the informer.
	Name string
	// Running is true while Run is under way.
	Running bool
	// Synced is true once the store has held a complete state of the server.
	Synced bool
	// Objects is the number of objects in the store.
	Objects int
	// Store says what the store takes beside the objects, index by index, and what
	// it keeps for snapshots. Bytes are estimates.
	Store indexer.Stats
	// Version is the newest resource version that the store stands for.
	Version string
	// Reader is the state of the reader of the server.
	Reader reflector.Status
	// Queue is the state of the queue between reader and store in the present
	// or the last run.
	Queue deltafifo.Stats
	// Handlers has one element for each registered handler and each loop over
	// Changes, in the order of their registration.
	Handlers []HandlerStatus
	// ObjectErrors counts the failures that concerned one object, and
	// LastObjectError is the last of them, nil if there was none.
	ObjectErrors    uint64
	LastObjectError *ObjectError
	// Unindexed is the number of objects in the store that are missing from an
	// index, because its function has failed for them; see [Informer.Unindexed].
	Unindexed int
	// Stale counts the changes that were dropped because the store held a
	// newer state of the object.
	Stale uint64
}

// HandlerStatus is the state of one handler at one moment.
type HandlerStatus struct {
	// Name is the handler's.
	Name string
	// Synced is true once it has been told of its initial objects.
	Synced bool
	// Pending is the number of changes that it has not returned from yet, and
	// Folding is true while those that wait are folded to what still matters of
	// each key.
	Pending int
	Folding bool
	// Unread is the part of Pending that waits in the log of changes, which all
	// handlers share, and FoldedKeys the number of keys of which changes are
	// folded.
	Unread, FoldedKeys int
	// BacklogBytes estimates the memory that is held for what is pending, objects
	// not included. Handlers that are equally far behind share it.
	BacklogBytes int64
	// BusySince is the time from which on there was always something pending;
	// zero while there is nothing, for a stopped informer, and for a loop over
	// Changes.
	BusySince time.Time
	// Delivered counts the changes it was offered, those it does not want
	// because of its filter included.
	Delivered uint64
	// Panics counts the panics of it and its filter.
	Panics uint64
}

// Status returns the state of the informer. It waits at most for the batch that
// is being applied to the store.
func (i *Informer[T]) Status() Status {
	running, _, _ := i.life.state()
	s := Status{
		Name:         i.name,
		Running:      running,
		Synced:       isClosed(i.synced),
		Objects:      i.store.Len(),
		Store:        i.store.Stats(),
		Version:      i.store.Version(),
		Reader:       i.reflector.Status(),
		Handlers:     i.processor.statuses(),
		ObjectErrors: i.failures.count.Load(),
		Stale:        i.stale.Load(),
	}
	if l := i.loop.Load(); l != nil {
		s.Queue = l.queue.Stats()
	}
	i.processor.mu.Lock()
	s.Unindexed = len(i.unindexed)
	i.processor.mu.Unlock()
	i.failures.mu.Lock()
	s.LastObjectError = i.failures.last
	i.failures.mu.Unlock()
	return s
}

// Subscribe calls f with the state of the reader at each change of it, in order,
// until cancel is called. f is called by the reading goroutine and must not block;
// see [reflector.Reflector.Subscribe].
func (i *Informer[T]) Subscribe(f func(reflector.Status)) (cancel func()) {
	return i.reflector.Subscribe(f)
}

// String says in one line how the informer fares.
func (s Status) String() string {
	return fmt.Sprintf("%s; %d objects at version %q, %d handlers, %d failures of single objects",
		s.Reader.Explain(), s.Objects, s.Version, len(s.Handlers), s.ObjectErrors)
}
