package cacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/history"
	"heliograph.example/reflector"
)

// The window keeps at least DefaultWindow changes, more while they are younger
// than windowAge, the 75 seconds of kube-apiserver, and never more than
// windowMax times as many. The minimum is larger than kube-apiserver's 100,
// because a process that writes to its own memory bursts faster than one that
// writes to etcd, and the minimum is what a watcher survives.
const (
	DefaultWindow = 4096
	windowMax     = 25
	windowAge     = 75 * time.Second
)

// Errors of this package. Those that a client should see are
// apierrors.APIStatus values instead.
var (
	// ErrInvalidOptions is wrapped by the error of [New] for options that
	// cannot work.
	ErrInvalidOptions = errors.New("invalid watch cache options")
	// ErrRunning is wrapped by the error of [Cacher.Run] if it runs already
	// or has run before.
	ErrRunning = errors.New("watch cache has been run")
)

// Options configure a [Cacher]. The zero value is ready for use.
type Options struct {
	// Window is the number of changes that are kept in any case, and thereby
	// how far a watcher may fall behind. 0 means DefaultWindow; a negative
	// number is an error.
	Window int
	// Backlog is for tests of clients: a watcher that has more changes within
	// its scope (namespace and name) yet to be told ends with io.EOF, as on
	// kube-apiserver, which has room for 10 to 1,000 of them. What happened
	// before the watch was opened does not count. 0 means that only the window
	// bounds it; a negative number is an error.
	Backlog int
}

// Cacher is a watch cache: [storage.Interface] in front of a store, answering
// from memory what it can. See the package documentation for its rules. It is
// safe for use by several goroutines.
type Cacher struct {
	store    *storage.Store
	of       storage.StoreOptions
	resource string
	backlog  int // see Options

	// wanted is closed by the first request that needs the cache.
	wanted   chan struct{}
	wantOnce sync.Once

	mu sync.RWMutex
	// window is the state, its past and its version. Reading it needs the
	// read lock; taking a view needs the write lock, because views are made
	// on demand.
	window *history.History[entry]
	// began is the version of the first list, as long as everything since is
	// in the window, and 0 afterwards.
	began uint64
	// reader feeds the cache, and reading is its run, nil while there is none.
	reader  *reflector.Reflector[runtime.Object]
	reading *reading
	// ready is set by a complete list, and stopped by the end of Run.
	ready, stopped, running bool
	// unready is when the cache began to wait for a complete list.
	unready time.Time
	// What tests do to the cache: see fault.go.
	faults
	// changed is closed and replaced when there are changes to tell, or when
	// watchers have to end.
	changed chan struct{}
	// moved is closed and replaced when the version moves, or when readiness
	// changes. It is nil while nobody waits for that.
	moved chan struct{}

	// rooms are those that no watcher is in.
	rooms sync.Pool
}

var _ storage.Interface = (*Cacher)(nil)

// New returns a cache in front of store. It does nothing until [Cacher.Run] is
// called.
func New(store *storage.Store, opts Options) (*Cacher, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrInvalidOptions)
	}
	if opts.Window < 0 {
		return nil, fmt.Errorf("%w: window of %d changes", ErrInvalidOptions, opts.Window)
	}
	if opts.Backlog < 0 {
		return nil, fmt.Errorf("%w: backlog of %d changes", ErrInvalidOptions, opts.Backlog)
	}
	if opts.Window == 0 {
		opts.Window = DefaultWindow
	}
	c := &Cacher{
		store:    store,
		of:       store.Options(),
		resource: store.Options().GroupResource.String(),
		backlog:  opts.Backlog,
		wanted:   make(chan struct{}),
		window:   history.New[entry](0, history.Limits{Min: opts.Window, Max: windowMax * opts.Window, Age: windowAge}),
		changed:  make(chan struct{}),
	}
	c.window.Dropped = func(change *history.Change[entry]) { change.After.forgetEvent() }
	if err := c.renew(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cacher) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.wakeWatchers()
	c.wakeReaders()
}

// want starts the cache if this is the first request that needs it.
func (c *Cacher) want() { c.wantOnce.Do(func() { close(c.wanted) }) }

// wakeWatchers and wakeReaders are called with the lock held.
func (c *Cacher) wakeWatchers() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Cacher) wakeReaders() {
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

// Status tells what the reflector that feeds the cache is doing.
func (c *Cacher) Status() reflector.Status {
	c.mu.RLock()
	reader := c.reader
	c.mu.RUnlock()
	return reader.Status()
}

// DropHistory forgets all changes up to now, as if the window were full of
// newer ones: a watch from an older version is told that it is too old, and a
// watcher that has not been told everything falls off.
func (c *Cacher) DropHistory() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The newest revision is never in the future.
	_ = c.window.Compact(c.window.Revision())
	c.began = 0
	c.wakeWatchers()
}

// Create implements [storage.Interface]. Writes go to the store; the cache
// learns of them as of those by anyone else.
func (c *Cacher) Create(ctx context.Context, key types.NamespacedName, obj runtime.Object) (runtime.Object, error) {
	return c.store.Create(ctx, key, obj)
}

// Update implements [storage.Interface].
func (c *Cacher) Update(ctx context.Context, key types.NamespacedName, change func(runtime.Object) (runtime.Object, bool, error)) (runtime.Object, error) {
	return c.store.Update(ctx, key, change)
}

// Delete implements [storage.Interface].
func (c *Cacher) Delete(ctx context.Context, key types.NamespacedName, check func(runtime.Object) error) (runtime.Object, error) {
	return c.store.Delete(ctx, key, check)
}
