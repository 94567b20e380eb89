package reflector

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"heliograph.example/deltafifo"
)

const (
	// An object that could not be used is read again after these pauses, and
	// half as much again by chance.
	minMend, maxMend = 30 * time.Second, 10 * time.Minute
	// mendGap is the least time between two such reads, and mendTimeout the
	// longest that one may take.
	mendGap, mendTimeout = time.Second, 30 * time.Second
	// MaxBroken is the most that Broken returns.
	MaxBroken = 100
)

// BrokenObject is an object whose newest state could not be used. What is held
// under its key, if anything, is an older state. So may be one that a list seemed
// to lack which had objects without readable names: it is one of those, or gone,
// and Err has the UID and version that are held.
type BrokenObject struct {
	// Err says what is wrong, with key, UID, version and stage of the state
	// that cannot be used.
	Err *ObjectError
	// Since is when the first such state came, with no good one after it.
	Since time.Time
	// TryErr is why the object could not be read again the last time, nil if it
	// was read, or has not been yet.
	TryErr error
	// Tries is how often the object has been read again, and NextTry when it
	// will be at the earliest. It is zero if the source has no Getter: then the
	// next version of the object is the next try.
	Tries   int
	NextTry time.Time
}

// broken has the objects that could not be used. There are no more of them than
// objects at the server.
type broken struct {
	count atomic.Int64

	mu      sync.Mutex
	objects map[types.NamespacedName]*brokenObject
	// state counts the lists: who was not met in the last one is gone.
	state int
	// can is set if objects can be read again, mending while a goroutine does.
	can, mending bool
	// ctx is that of the run, stop ends it, and running waits for the mending.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

type brokenObject struct {
	BrokenObject
	state int
	// absent is the version of a collection that did not have the object.
	absent string
}

// Broken returns the objects whose newest state could not be used, those that are
// so for the longest time first, at most MaxBroken. Status.Broken counts all.
func (r *Reflector[T]) Broken() []BrokenObject {
	b := &r.broken
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]BrokenObject, 0, len(b.objects))
	for _, o := range b.objects {
		out = append(out, o.BrokenObject)
	}
	slices.SortFunc(out, func(a, b BrokenObject) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Err.Key.String(), b.Err.Key.String()))
	})
	return slices.Clone(out[:min(len(out), MaxBroken)])
}

// IsBroken tells whether the newest state of the object under key could not be
// used, so that what is held is older, and why.
func (r *Reflector[T]) IsBroken(key types.NamespacedName) (BrokenObject, bool) {
	b := &r.broken
	if b.count.Load() == 0 {
		return BrokenObject{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.objects[key]; o != nil {
		return o.BrokenObject, true
	}
	return BrokenObject{}, false
}

// add notes what is wrong with an object, and whether that is news.
func (b *broken) add(err *ObjectError) (news bool) {
	if err.Key.Name == "" {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.objects[err.Key]
	if o == nil {
		if b.objects == nil {
			b.objects = make(map[types.NamespacedName]*brokenObject)
		}
		o = &brokenObject{BrokenObject: BrokenObject{Since: time.Now()}}
		if b.can {
			o.NextTry = o.Since.Add(wait.Jitter(minMend, 0.5))
		}
		b.objects[err.Key] = o
	}
	news = o.Err == nil || o.Err.Version != err.Version || o.Err.Error() != err.Error()
	o.Err, o.state, o.absent = err, b.state, ""
	b.count.Store(int64(len(b.objects)))
	return news
}

// remove notes that a newer state of the object was good, or that it is gone.
func (b *broken) remove(key types.NamespacedName) {
	if b.count.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, key)
	b.count.Store(int64(len(b.objects)))
}

func (b *broken) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects = nil
	b.count.Store(0)
}

// listing begins a complete state, listed ends it: what was not met in it is not
// broken any more.
func (b *broken) listing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state++
}

// unmet notes that a state which is being read has the object good after all, or no
// more, although it was met as broken before.
func (b *broken) unmet(key types.NamespacedName) {
	if b.count.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.objects[key]; o != nil {
		o.state = b.state - 1
	}
}

func (b *broken) listed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, o := range b.objects {
		if o.state != b.state {
			delete(b.objects, key)
		}
	}
	b.count.Store(int64(len(b.objects)))
}

// begin and end bound the mending by the run.
func (b *broken) begin(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx, b.stop = context.WithCancel(ctx)
}

func (b *broken) end() {
	b.stop()
	b.running.Wait()
}

// mend sees to it that broken objects are read again. The reader of the stream
// does not wait for that: one goroutine, which lives while anything is broken,
// reads them one after the other.
func (r *Reflector[T]) mend() {
	b := &r.broken
	if b.count.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mending || !b.can {
		return
	}
	b.mending = true
	ctx, getter := b.ctx, r.source.(Getter[T])
	b.running.Go(func() { r.mendAll(ctx, getter) })
}

// mendAll reads broken objects again until there are none.
func (r *Reflector[T]) mendAll(ctx context.Context, getter Getter[T]) {
	for {
		key, at, more := r.broken.next(ctx)
		if !more {
			return
		}
		// One that breaks meanwhile is due no sooner than after minMend.
		if sleep(ctx, time.Now().Add(max(mendGap, min(time.Until(at), minMend)))); ctx.Err() != nil || time.Until(at) > 0 || r.Status().State != Watching {
			continue
		}
		reading, cancel := context.WithTimeout(ctx, mendTimeout)
		reading, heard := r.traced(reading, func() {})
		it, err := getter.Get(reading, key)
		cancel()
		err = heard.in(err)
		if pause, asked := retryAfter(err); asked {
			sleep(ctx, time.Now().Add(pause))
		}
		if errors.Is(err, errors.ErrUnsupported) {
			r.broken.giveUp()
			return
		}
		r.broken.tried(key, err)
		r.mended(ctx, key, &it, err)
	}
}

// next returns the object to read next, and when. Without one, or when ctx has
// ended, the mending is over.
func (b *broken) next(ctx context.Context) (key types.NamespacedName, at time.Time, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var first *brokenObject
	for k, o := range b.objects {
		if first == nil || o.NextTry.Before(first.NextTry) {
			key, first = k, o
		}
	}
	if b.mending = first != nil && ctx.Err() == nil; !b.mending {
		return key, at, false
	}
	return key, first.NextTry, true
}

// tried notes how a try has ended, and puts the next one off.
func (b *broken) tried(key types.NamespacedName, err error) {
	if errors.Is(err, ErrNoObject) {
		err = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.objects[key]; o != nil {
		o.TryErr = err
		o.Tries++
		pause := min(minMend<<min(o.Tries, 8), maxMend)
		o.NextTry = time.Now().Add(wait.Jitter(pause, 0.5))
	}
}

// giveUp notes that nothing can be read again.
func (b *broken) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.can, b.mending = false, false
	for _, o := range b.objects {
		o.NextTry = time.Time{}
	}
}

// mended pushes what was read again, if the watch has come as far: a newer state
// is left to the watch, which will bring it in its order. So the sink never has
// one object of a later time than all others.
func (r *Reflector[T]) mended(ctx context.Context, key types.NamespacedName, it *Item[T], err error) {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	known, still := r.IsBroken(key)
	if !r.following || !still || ctx.Err() != nil {
		return
	}
	if errors.Is(err, ErrNoObject) {
		r.missed(key, it, known)
		return
	}
	if err != nil {
		return
	}
	ahead, ok := compareVersions(it.Version, r.version)
	before, comparable := compareVersions(it.Version, known.Err.Version)
	if !ok || ahead > 0 || comparable && before < 0 {
		return
	}
	err = it.Err
	if err == nil && before == 0 && comparable && it.UID == known.Err.UID && errors.Is(known.Err, errUnaccounted) {
		r.broken.remove(key) // what is held is the newest state
		return
	}
	if err == nil {
		err = r.transformed(it)
	}
	if err != nil {
		r.reject(ctx, it, err)
		return
	}
	r.pushMended(deltafifo.Delta[T]{Type: deltafifo.Updated, Key: key, UID: it.UID, Version: it.Version, Object: it.Object})
}

// missed notes that the collection does not have the object. Its end comes by the
// watch, unless the event could not be read either: so if the watch passes that
// version and the object is still not there, it is over.
func (r *Reflector[T]) missed(key types.NamespacedName, it *Item[T], known BrokenObject) {
	b := &r.broken
	b.mu.Lock()
	o := b.objects[key]
	absent := o.absent
	if absent == "" && hasVersion(it.Version) {
		o.absent = it.Version
	}
	b.mu.Unlock()
	if passed, ok := compareVersions(absent, r.version); !ok || passed > 0 {
		return
	}
	r.pushMended(deltafifo.Delta[T]{Type: deltafifo.Deleted, Key: key, UID: known.Err.UID, Version: absent, FinalStateUnknown: true})
}

// pushMended pushes one delta. That a sink refuses is noticed by the reader, with
// its next push.
func (r *Reflector[T]) pushMended(d deltafifo.Delta[T]) {
	if r.sink.Push([]deltafifo.Delta[T]{d}) == nil {
		r.broken.remove(d.Key)
	}
}

// follow lets mended objects be pushed, or not, while a state is compared with
// what is held.
func (r *Reflector[T]) follow(on bool) {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	r.following = on
}
