package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

// DefaultReceiptTimeout is how long a key is held for a write that does not show,
// unless [Options].ReceiptTimeout says otherwise.
const DefaultReceiptTimeout = 30 * time.Second

// Mirror is what receipts need of the informer that shows what was written: an
// *informer.Informer has it.
type Mirror[T any] interface {
	Informer[T]
	Name() string
	Scope() informer.Scope
	Store() indexer.Reader[T]
	OnVersion(version string, f func(error)) (stop func() bool, err error)
}

// Write calls write, which creates, updates or patches an object and returns it as
// the server has answered, and takes a receipt for it: after the reconcile, its key
// is not reconciled again until the store of inf, the informer of that resource,
// has come to the version of the write. So the next reconcile sees what this one
// wrote, and does not write it again. No worker waits for that, and no other key.
//
//	pod, err := controller.Write(ctx, pods, func() (*corev1.Pod, error) {
//		return client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
//	})
//
// ctx must be that of the reconcile, or made from it. write may use any client, or
// none; what it returns need not be of the type of the informer. A write that fails
// leaves no receipt. Its error is returned as it is. Note that a write whose answer
// was lost may have been done all the same: give such objects names that tell, so
// that a second try meets the first.
//
// A receipt that is not met within [Options].ReceiptTimeout is reported as a
// [ReceiptError], and the key goes on without. A write that the scope of the
// informer does not cover is not waited for. An informer made by [informer.New] does
// not tell the scope of its source; there, such a write is waited for until a
// later version shows, as by a bookmark. Where the versions of a collection have no
// order, as those of client-go's fakes, or a server went back in time, nothing can be
// waited for, and the key is not held.
//
// A context without a reconcile and a nil informer or function are errors, and then
// write is not called. A returned object without a usable version is an error, too.
func Write[O metav1.Object, T any](ctx context.Context, inf Mirror[T], write func() (O, error)) (O, error) {
	var none O
	b, err := bookOf(ctx, inf)
	if err != nil {
		return none, err
	}
	if write == nil {
		return none, fmt.Errorf("controller %s: %w: the function that writes %s is nil", b.shift.name, errInvalid, inf.Name())
	}
	obj, err := write()
	if err != nil {
		return obj, err
	}
	return obj, wrote(b, inf, obj)
}

// Wrote takes a receipt for an object that was written, for those who cannot call
// [Write]. obj is what the server has returned.
func Wrote[T any](ctx context.Context, inf Mirror[T], obj metav1.Object) error {
	b, err := bookOf(ctx, inf)
	if err != nil {
		return err
	}
	return wrote(b, inf, obj)
}

func wrote[T any](b *book, inf Mirror[T], obj metav1.Object) error {
	if isNil(obj) {
		return fmt.Errorf("controller %s: receipt: %w: the object is nil", b.shift.name, errInvalid)
	}
	version := obj.GetResourceVersion()
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("controller %s: receipt for %s in %s: %w: %w", b.shift.name, keyOf(obj), inf.Name(), errInvalid, err)
	}
	b.add(inf, version, shows(inf, obj), receipt{
		what:  fmt.Sprintf("%s at version %s", inf.Name(), version),
		watch: func(seen func(error)) (func() bool, error) { return inf.OnVersion(version, seen) },
	})
	return nil
}

// ErrNoReconcile is returned by [Write] and [Delete] for a context that is not that
// of a reconcile.
var ErrNoReconcile = errors.New("the context is not that of a reconcile")

// ReceiptError is reported when what was written does not show in time.
type ReceiptError struct {
	// Key is what was held for it.
	Key types.NamespacedName
	// What names the informer and what it has not shown.
	What string
	// Timeout is how long it was waited for.
	Timeout time.Duration
}

// Error tells what has not shown.
func (e *ReceiptError) Error() string {
	return fmt.Sprintf("%s wrote what has not shown in %v: %s", short(e.Key), e.Timeout, e.What)
}

// book has the receipts of one reconcile.
type book struct {
	shift *shift
	key   types.NamespacedName

	mu     sync.Mutex
	closed bool
	// latest has for each informer the receipt for the newest version: when it
	// is met, those before are.
	latest map[any]version
	others []receipt
}

type version struct {
	number string
	receipt
}

// receipt is something that was written and has to show.
type receipt struct {
	what string
	// watch calls seen once it shows, perhaps before it returns.
	watch func(seen func(error)) (stop func() bool, err error)
}

// bookKey is the key of a book in the context of a reconcile.
type bookKey struct{}

func bookOf[T any](ctx context.Context, inf Mirror[T]) (*book, error) {
	if ctx == nil {
		return nil, fmt.Errorf("controller: receipt: %w: the context is nil", errInvalid)
	}
	b, ok := ctx.Value(bookKey{}).(*book)
	switch {
	case !ok:
		return nil, fmt.Errorf("controller: receipt: %w", ErrNoReconcile)
	case isNil(inf):
		return nil, fmt.Errorf("controller %s: receipt: %w: the informer is nil", b.shift.name, errInvalid)
	case !reflect.ValueOf(inf).Comparable():
		return nil, fmt.Errorf("controller %s: receipt in %s: %w: a %T cannot be told from others: use a pointer", b.shift.name, inf.Name(), errInvalid, inf)
	}
	return b, nil
}

// add adds a receipt for a version of an informer. One that may not show counts only
// if an earlier write of the same reconcile shows: it may have ended what that one
// has begun.
func (b *book) add(inf any, number string, shows bool, r receipt) {
	b.mu.Lock()
	last, ok := b.latest[inf]
	if !ok && !shows {
		b.mu.Unlock()
		return
	}
	if b.closed { // the reconcile has left something behind that writes
		b.mu.Unlock()
		b.shift.await(b.key, r)
		return
	}
	defer b.mu.Unlock()
	if b.latest == nil {
		b.latest = make(map[any]version)
	}
	if order, err := resourceversion.CompareResourceVersion(last.number, number); !ok || err == nil && order < 0 {
		b.latest[inf] = version{number, r}
	}
}

// addOther adds a receipt for what has no version.
func (b *book) addOther(r receipt) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		b.shift.await(b.key, r)
		return
	}
	b.others = append(b.others, r)
	b.mu.Unlock()
}

// close holds the key, which is still running, until all receipts are met.
func (b *book) close() {
	b.mu.Lock()
	b.closed = true
	latest, others := b.latest, b.others
	b.mu.Unlock()
	for _, v := range latest {
		b.shift.await(b.key, v.receipt)
	}
	for _, r := range others {
		b.shift.await(b.key, r)
	}
}

// wait is a receipt that a key is held for. The lock of the shift guards it.
type wait struct {
	over    bool
	stop    func() bool
	release func()
}

// await holds a key until a receipt is met.
func (s *shift) await(key types.NamespacedName, r receipt) {
	w := &wait{}
	stop, err := r.watch(func(error) {
		if _, release := s.settle(w); release != nil {
			release()
		}
	})
	if err != nil {
		s.unseen(key, err)
		return
	}
	s.mu.Lock()
	if w.over {
		s.mu.Unlock()
		return
	}
	w.stop = stop
	s.waits[w] = true
	s.mu.Unlock()
	limit := s.options.ReceiptTimeout
	release, err := s.queue.Hold(key, workqueue.Hold{Reason: r.what, Limit: limit, Expired: func() {
		if first, _ := s.settle(w); first {
			stop()
			s.unseen(key, &ReceiptError{Key: key, What: r.what, Timeout: limit})
		}
	}})
	if err != nil { // the run has ended, and with it what the key is held for
		s.settle(w)
		stop()
		return
	}
	s.mu.Lock()
	w.release = release
	over := w.over
	s.mu.Unlock()
	if over {
		release()
	}
}

// settle ends a wait, and reports whether it had not ended before.
func (s *shift) settle(w *wait) (first bool, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, w.over = !w.over, true
	delete(s.waits, w)
	return first, w.release
}

// forgetWaits ends all waits, whose holds have ended with the queue.
func (s *shift) forgetWaits() {
	s.mu.Lock()
	waits := s.waits
	s.waits = make(map[*wait]bool)
	s.mu.Unlock()
	for w := range waits {
		w.stop()
	}
}

// unseen reports a receipt that was not met.
func (s *shift) unseen(key types.NamespacedName, err error) {
	s.counts.unseen(key, err)
	s.report(klog.NewContext(s.ctx, klog.FromContext(s.ctx).WithValues("key", key)), key, err)
}
