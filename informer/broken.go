package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/reflector"
)

// BrokenObject is an object whose newest state could not be used.
type BrokenObject = reflector.BrokenObject

// Broken returns the objects whose newest state could not be decoded or
// transformed, the longest so first, at most [reflector.MaxBroken];
// Status.Reader.Broken counts all of them. What the store has under their keys, if
// anything, is an older state. They are read again at their next version, and by
// name at a slow pace. An object that could not be indexed is not among them: the
// store has it, and reading it again would not help. See [Informer.Unindexed].
func (i *Informer[T]) Broken() []BrokenObject { return i.reflector.Broken() }

// Unindexed returns, for each object in the store that is missing from an index,
// why its function failed: in the order of the keys, at most
// [reflector.MaxBroken]; Status.Unindexed counts all of them. Each is tried again
// at its next version.
func (i *Informer[T]) Unindexed() []*ObjectError {
	i.processor.mu.Lock()
	out := slices.Collect(maps.Values(i.unindexed))
	i.processor.mu.Unlock()
	slices.SortFunc(out, func(a, b *ObjectError) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return slices.Clone(out[:min(len(out), reflector.MaxBroken)])
}

// IsBroken tells whether what the store has under key is known to be older than
// an object at the server that could not be used, and why.
func (i *Informer[T]) IsBroken(key types.NamespacedName) (BrokenObject, bool) {
	return i.reflector.IsBroken(key)
}

// Nudge makes an informer that waits - because its resource is not served, it is
// forbidden, or the server was away - try again now: a second after its last try
// at the earliest, and never sooner than the server has asked for. Call it when
// something may have changed, such as from a handler of CustomResourceDefinitions.
func (i *Informer[T]) Nudge() { i.reflector.Nudge() }

// Waiter is what [WaitFor] waits for: an [Informer], a [Registration] or a
// [Factory].
type Waiter interface {
	Wait(ctx context.Context) error
}

// WaitFor waits until each of what it is given is synced. Whoever uses some of the
// informers of a factory waits for those, and is not held up by a type that cannot
// be read and that only others need. The error joins those of all that are not
// synced. A nil one is [ErrInvalid].
func WaitFor(ctx context.Context, all ...Waiter) error {
	errs := make([]error, len(all))
	var waiting sync.WaitGroup
	for n, w := range all {
		if isNil(w) {
			errs[n] = fmt.Errorf("%w: there is nothing to wait for at place %d", ErrInvalid, n)
			continue
		}
		// For all at a time: those that are waited for are read first.
		waiting.Go(func() { errs[n] = w.Wait(ctx) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}
