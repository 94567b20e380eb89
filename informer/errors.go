package informer

import (
	"errors"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"heliograph.example/reflector"
)

// Errors of this package. They are wrapped with the name of the informer and
// with what to do.
var (
	// ErrInvalid marks options and arguments that cannot be used.
	ErrInvalid = errors.New("invalid")
	// ErrRunning marks a second Run while one is under way.
	ErrRunning = errors.New("already running")
	// ErrStopped marks a wait for something that a stopped informer will not
	// do any more.
	ErrStopped = errors.New("stopped")
	// ErrRemoved marks a wait for a handler that was removed.
	ErrRemoved = errors.New("handler removed")
	// ErrConflict marks a request to a factory for a collection that is
	// shared already, on terms that cannot be shared.
	ErrConflict = errors.New("conflict")
	// ErrNotServed marks a type that the server does not serve.
	ErrNotServed = errors.New("not served")

	// errGoexit is what a handler or the reader met when a function of the user
	// called runtime.Goexit, as the FailNow of a test does.
	errGoexit = errors.New("it ended its goroutine")
)

// ObjectError tells of a failure that concerns one object alone.
type ObjectError = reflector.ObjectError

// The stages of an [ObjectError] that arise here; those of reading are in
// package reflector.
const (
	// StageIndex: an index function failed; the object is stored, but not in
	// that index.
	StageIndex = reflector.Stage("index")
	// StageHandler: a handler or its filter panicked on a change of the object.
	StageHandler = reflector.Stage("handler")
)

// PanicError is what a panic of the user's code becomes.
type PanicError = reflector.PanicError

// failures counts failures of single objects and remembers the last.
type failures struct {
	count  atomic.Uint64
	logger atomic.Pointer[klog.Logger]
	mu     sync.Mutex
	last   *ObjectError
}

// report is told of every failure of a single object, from any goroutine.
func (i *Informer[T]) report(e *ObjectError) {
	if e.Resource != i.name {
		e.Resource = i.name // the reader's errors have it, and others see those already
	}
	i.failures.count.Add(1)
	i.failures.mu.Lock()
	i.failures.last = e
	i.failures.mu.Unlock()
	if tell := i.options.onObjectError; tell != nil {
		defer func() {
			if v := recover(); v != nil {
				i.log().Error(&PanicError{Value: v}, "OnObjectError panicked", "about", e.Error())
			}
		}()
		tell(e)
		return
	}
	i.log().Error(e.Err, "One object failed; the rest goes on", "stage", e.Stage, "key", e.Key, "resourceVersion", e.Version)
}

func (i *Informer[T]) log() klog.Logger {
	if l := i.failures.logger.Load(); l != nil {
		return *l
	}
	return klog.Background().WithValues("informer", i.name)
}
