package controller

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// Delete calls del, which deletes obj, an object of the store of inf, and takes a
// receipt as [Write] does: after the reconcile, its key is not reconciled again
// until the store shows that the object is going or gone. That is when it holds no
// object of that name and UID, or one with a deletion timestamp, as where a finalizer
// or a grace period keeps it.
//
// An object that the store does not hold when the reconcile ends counts as gone: to
// delete what the same reconcile has created, delete it in the next. The rules for
// ctx, errors and the timeout are those of Write.
func Delete[T any](ctx context.Context, inf Mirror[T], obj metav1.Object, del func() error) error {
	b, err := bookOf(ctx, inf)
	if err != nil {
		return err
	}
	if isNil(obj) || del == nil {
		return fmt.Errorf("controller %s: delete in %s: %w: the object or the function is nil", b.shift.name, inf.Name(), errInvalid)
	}
	if err := del(); err != nil {
		return err
	}
	key, uid := keyOf(obj), obj.GetUID()
	b.addOther(receipt{
		what: fmt.Sprintf("%s without %s", inf.Name(), key),
		watch: func(seen func(error)) (func() bool, error) {
			a, err := absencesOf(b.shift, inf)
			if err != nil {
				return nil, err
			}
			return a.await(key, uid, seen), nil
		},
	})
	return nil
}

// absences is a handler that tells when objects go.
type absences[T any] struct {
	store indexer.Reader[T]

	mu      sync.Mutex
	waiting map[types.NamespacedName][]*absence
}

type absence struct {
	uid  types.UID
	tell func(error)
}

// absencesOf returns the handler of a run for an informer, and registers it if it
// is the first to be asked for.
func absencesOf[T any](s *shift, inf Mirror[T]) (*absences[T], error) {
	s.Controller.mu.Lock()
	defer s.Controller.mu.Unlock()
	if a, ok := s.absences[inf].(*absences[T]); ok {
		return a, nil
	}
	a := &absences[T]{store: inf.Store(), waiting: make(map[types.NamespacedName][]*absence)}
	if s.phase != Running {
		return a, nil // the queue is closed: nobody will be held
	}
	r, err := inf.Handle(a, informer.HandlerOptions[T]{Name: "deletes of controller " + s.name})
	if err != nil {
		return nil, err
	}
	s.watches = append(s.watches, watching{r, inf.Name()})
	s.absences[inf] = a
	return a, nil
}

// await calls tell once an object is going or gone.
func (a *absences[T]) await(key types.NamespacedName, uid types.UID, tell func(error)) (stop func() bool) {
	w := &absence{uid, tell}
	a.mu.Lock()
	a.waiting[key] = append(a.waiting[key], w)
	a.mu.Unlock()
	a.check(key)
	return func() bool { return a.forget(key, w) }
}

// Handle looks whether somebody waits for what a change tells. The store has it by
// now.
func (a *absences[T]) Handle(_ context.Context, change informer.Change[T]) { a.check(change.Key) }

// check tells those who wait for an object to go, if it goes.
func (a *absences[T]) check(key types.NamespacedName) {
	a.mu.Lock()
	waiting := a.waiting[key]
	if len(waiting) == 0 {
		a.mu.Unlock()
		return
	}
	var due, rest []*absence
	for _, w := range waiting {
		if a.goes(key, w.uid) {
			due = append(due, w)
		} else {
			rest = append(rest, w)
		}
	}
	a.keep(key, rest)
	a.mu.Unlock()
	for _, w := range due {
		w.tell(nil)
	}
}

// goes reports whether the store shows that an object is going or gone.
func (a *absences[T]) goes(key types.NamespacedName, uid types.UID) bool {
	entry, ok := a.store.Entry(key)
	if !ok || uid != "" && entry.UID != uid {
		return true
	}
	obj, ok := any(entry.Object).(metav1.Object)
	return ok && obj.GetDeletionTimestamp() != nil
}

func (a *absences[T]) forget(key types.NamespacedName, w *absence) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	var rest []*absence
	for _, other := range a.waiting[key] {
		if other != w {
			rest = append(rest, other)
		}
	}
	found := len(rest) < len(a.waiting[key])
	a.keep(key, rest)
	return found
}

func (a *absences[T]) keep(key types.NamespacedName, rest []*absence) {
	if len(rest) == 0 {
		delete(a.waiting, key)
		return
	}
	a.waiting[key] = rest
}
