package informer

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"heliograph.example/deltafifo"
	"heliograph.example/indexer"
)

// loopLinger is how long the controller loop keeps its goroutine while there is
// nothing to apply. Where events come one by one, most find it there.
const loopLinger = 50 * time.Millisecond

// loop is the controller loop of one run: it pops what the reader has pushed,
// applies it to the store, and gives the changes to the listeners. It is the only
// writer of the store. It has a goroutine while there is something to apply, and
// for a moment longer. When the queue is closed, everything in it is applied all the
// same: what the reader believes to be known is then really there, and a later run
// may resume from it.
type loop[T any] struct {
	queue *deltafifo.DeltaFIFO[T]
	apply func(batch []deltafifo.Delta[T])
	// failed is called when the loop ends for another reason than the end of the
	// queue. A push that nobody pops would be lost.
	failed func(error)

	group sync.WaitGroup
	mu    sync.Mutex
	// running is set while there is a goroutine, and again when it has to look
	// once more before it ends.
	running, again bool
	err            error
}

// push puts deltas into the queue, and sees to it that somebody pops them.
func (l *loop[T]) push(deltas []deltafifo.Delta[T]) error {
	if err := l.queue.Push(deltas); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return l.err
	case l.running:
		l.again = true
	default:
		l.running = true
		l.group.Go(l.run)
	}
	return nil
}

// run is the goroutine.
func (l *loop[T]) run() {
	err := errGoexit // a function of the user's can end the goroutine
	defer func() {
		if err != nil {
			l.fail(err)
		}
	}()
	for {
		if popped := l.pop(); popped != nil {
			err = popped
			return
		}
		if !l.more() {
			err = nil
			return
		}
	}
}

// pop applies what there is, until there is nothing for a while.
func (l *loop[T]) pop() error {
	for {
		batch, err := l.queue.Pop(context.Background())
		if errors.Is(err, deltafifo.ErrIdle) || errors.Is(err, deltafifo.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		l.apply(batch)
	}
}

// more reports whether something was pushed since the goroutine has looked. If not,
// the goroutine counts as ended.
func (l *loop[T]) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.again = l.again, false
	return l.running
}

func (l *loop[T]) fail(err error) {
	l.mu.Lock()
	l.running, l.err = false, err
	l.mu.Unlock()
	l.failed(err)
}

// end closes the queue, waits until all of it is applied, and returns what has
// ended the loop before, if anything has. Nobody may push meanwhile.
func (l *loop[T]) end() error {
	l.queue.Close()
	l.group.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// apply commits one batch to the store and publishes its changes. Failures are
// reported when no lock is held, and those of the first state before it counts as
// synced.
func (i *Informer[T]) apply(batch []deltafifo.Delta[T]) {
	failed, synced, epoch := i.commit(batch)
	for _, e := range failed {
		if e.Stage == StageMutated {
			i.detector.report(e)
		} else {
			i.report(e)
		}
	}
	if synced {
		i.syncOnce.Do(func() { close(i.synced) })
		i.reached(i.store.Version(), epoch)
	}
}

// commit returns the failures, whether the store now holds, or held before, a
// complete state of the server, and whether the server went back in time.
func (i *Informer[T]) commit(batch []deltafifo.Delta[T]) (failed []*ObjectError, synced, back bool) {
	w := writer[T]{name: i.name, detector: i.detector, unindexed: i.unindexed}
	listeners, start := i.write(&w, batch)
	// Those who come from here on start from a later state.
	if len(listeners) > 0 {
		live := i.store.Len()
		for _, l := range listeners {
			l.follow(start, live)
		}
	}
	return w.failed, w.synced, w.back
}

// write writes a batch to the store and its changes to the log, and returns the
// listeners that are to read them, from a position on.
func (i *Informer[T]) write(w *writer[T], batch []deltafifo.Delta[T]) (listeners []*processorListener[T], start uint64) {
	p := &i.processor
	p.mu.Lock()
	defer p.mu.Unlock()
	w.version, w.keys = i.store.Version(), i.keys
	// The first state is told from the store.
	if p.synced && len(p.listeners) > 0 {
		w.log, listeners = &p.log, p.listeners
		w.log.begin(objects(batch))
	}
	i.store.Update(func(tx indexer.Tx[T]) {
		w.tx = tx
		for n := range batch {
			w.expect(batch, n)
			w.apply(&batch[n])
		}
		tx.SetVersion(w.version)
	})
	i.keys = w.keys[:0]
	i.stale.Add(w.stale)
	if w.replaced {
		// A server that went back behind what parts of a list had brought, and not
		// behind the version of the store, has gone back too.
		epoch := i.reflector.Status().Epoch
		w.back, i.epoch = w.back || epoch != i.epoch, epoch
	}
	switch {
	case w.log != nil:
		start = w.log.publish()
	case w.replaced && !p.synced:
		p.firstSync()
	}
	w.synced = p.synced
	return listeners, start
}

// objects counts the objects that a batch is about.
func objects[T any](batch []deltafifo.Delta[T]) (n int) {
	for i := range batch {
		switch batch[i].Type {
		case deltafifo.Replaced:
			n += len(batch[i].Items)
		case deltafifo.Added, deltafifo.Updated, deltafifo.Deleted:
			n++
		}
	}
	return n
}

// writer turns deltas into writes to the store and into changes.
type writer[T any] struct {
	name string
	tx   indexer.Tx[T]
	// log takes what is to tell; nil if there is nobody to be told.
	log    *changeLog[T]
	failed []*ObjectError
	// replaced is set if there was a list, and synced if there is a complete
	// state now.
	replaced, synced bool
	// back is set if a list was older than the store.
	back bool
	// version is what the store stands for after the batch. A frame that comes
	// late does not take it back; only a list does.
	version  string
	stale    uint64
	detector *detector[T]
	// unindexed is that of the informer.
	unindexed map[types.NamespacedName]*ObjectError
	// keys is where those are collected that the store is told to expect.
	keys []types.NamespacedName
}

// expectSize is the number of keys of which the store is told in one go.
const expectSize = 64

// expect is called before each of some deltas is applied. Now and then it tells the
// store of the next keys.
func (w *writer[T]) expect(deltas []deltafifo.Delta[T], n int) {
	if n%expectSize != 0 || len(deltas) == 1 {
		return
	}
	w.keys = w.keys[:0]
	for i := range deltas[n:min(n+expectSize, len(deltas))] {
		w.keys = append(w.keys, deltas[n+i].Key)
	}
	w.tx.Expect(w.keys)
}

func (w *writer[T]) apply(d *deltafifo.Delta[T]) {
	switch d.Type {
	case deltafifo.Added, deltafifo.Updated:
		if w.isStale(d) {
			w.stale++
			return
		}
		w.put(d)
	case deltafifo.Deleted:
		if w.isStale(d) {
			w.stale++
			return
		}
		w.delete(d)
	case deltafifo.Replaced:
		// A complete list is the truth, also where it is older than the store:
		// the server may have been restored from a backup.
		for n := range d.Items {
			w.expect(d.Items, n)
			if d.Items[n].Type == deltafifo.Deleted {
				w.delete(&d.Items[n])
			} else {
				w.put(&d.Items[n])
			}
		}
		w.replaced, w.back = true, w.back || older(d.Version, w.version)
		w.version = d.Version
	}
	if newer(d.Version, w.version) {
		w.version = d.Version
	}
}

// isStale reports whether the store holds a state of the key that is not older.
func (w *writer[T]) isStale(d *deltafifo.Delta[T]) bool {
	old, ok := w.tx.Entry(d.Key)
	if !ok {
		return false
	}
	if d.Type == deltafifo.Deleted && d.Version == old.Version {
		return false
	}
	return !newer(d.Version, old.Version)
}

// newer reports whether version a comes after b. If they are not the same and
// cannot be compared, the order of arrival decides.
func newer(a, b string) bool {
	if a == b && a != "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// older reports whether version a is known to come before b.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

func (w *writer[T]) put(d *deltafifo.Delta[T]) {
	old, ok := w.tx.Entry(d.Key)
	w.failed = append(w.failed, w.detector.put(d.Key, d.UID, d.Version, d.Object)...)
	if err := w.tx.Put(indexer.Entry[T]{Key: d.Key, UID: d.UID, Version: d.Version, Object: d.Object}); err != nil {
		e := &ObjectError{Resource: w.name, Key: d.Key, UID: d.UID, Version: d.Version, Stage: StageIndex, Err: err}
		w.failed = append(w.failed, e)
		w.unindexed[d.Key] = e
	} else if len(w.unindexed) > 0 {
		delete(w.unindexed, d.Key)
	}
	if w.log == nil {
		return
	}
	change := Change[T]{Type: Added, Key: d.Key, UID: d.UID, Version: d.Version, New: d.Object}
	if ok && !sameUID(old.UID, d.UID) {
		// The name was given to another object, and nobody saw the end of the
		// first.
		*w.log.next() = unseenEnd(old)
	} else if ok {
		change.Type, change.Old = Updated, old.Object
	}
	*w.log.next() = change
}

func (w *writer[T]) delete(d *deltafifo.Delta[T]) {
	old, ok := w.tx.Delete(d.Key)
	delete(w.unindexed, d.Key)
	w.failed = append(w.failed, w.detector.del(d.Key)...)
	if !ok || w.log == nil {
		return
	}
	if d.FinalStateUnknown || !sameUID(old.UID, d.UID) {
		*w.log.next() = unseenEnd(old)
		return
	}
	*w.log.next() = Change[T]{Type: Deleted, Key: old.Key, UID: old.UID, Version: d.Version, Old: old.Object, New: d.Object}
}

func unseenEnd[T any](old indexer.Entry[T]) Change[T] {
	return Change[T]{Type: Deleted, Key: old.Key, UID: old.UID, Version: old.Version, Old: old.Object, FinalStateUnknown: true}
}

// sameUID compares identities; a source that gives none vouches for the name.
func sameUID(a, b types.UID) bool { return a == b || a == "" || b == "" }
