package controller

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/workqueue"
)

// workers are the goroutines of one run that reconcile.
type workers struct {
	*Controller
	sync.WaitGroup
	queue *queue
}

func (w *workers) start(ctx context.Context) { w.Go(func() { w.work(ctx) }) }

// work reconciles one key after another until ctx ends.
func (w *workers) work(ctx context.Context) {
	for {
		key, err := w.queue.Get(ctx)
		if err != nil {
			return // ctx has ended: nobody closes the queue before
		}
		w.turn(ctx, key)
	}
}

// turn reconciles one key and gives it back. If the reconciler ends the goroutine,
// another one takes its place.
func (w *workers) turn(run context.Context, key types.NamespacedName) {
	ctx := klog.NewContext(run, klog.FromContext(run).WithValues("key", key))
	returned, result := false, workqueue.Result{Err: ErrExited}
	defer func() {
		if !returned {
			w.failed(ctx, key, ErrExited)
			w.start(run)
		}
		if err := w.queue.Done(key, result); err != nil {
			w.report(ctx, key, err)
		}
	}()
	result = w.once(ctx, key)
	returned = true
}

// once reconciles one key and says what becomes of it.
func (c *Controller) once(ctx context.Context, key types.NamespacedName) workqueue.Result {
	result, err := c.protected(ctx, key)
	switch {
	case err == nil:
		c.counts.reconciled(key, nil)
		return workqueue.Result{After: result.RequeueAfter}
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		// Stopped in the middle: not the fault of the key.
		c.counts.reconciled(key, nil)
		return workqueue.Result{}
	}
	c.failed(ctx, key, err)
	if isPermanent(err) {
		return workqueue.Result{}
	}
	return workqueue.Result{Err: err, After: result.RequeueAfter}
}

// protected calls the reconciler and turns a panic into an error.
func (c *Controller) protected(ctx context.Context, key types.NamespacedName) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = Result{}, &PanicError{Key: key, Value: v, Stack: debug.Stack()}
		}
	}()
	return c.reconcile(ctx, key)
}

// isPermanent reports whether a retry is pointless. A panic is never, whatever
// its value.
func isPermanent(err error) bool {
	return errors.Is(err, ErrPermanent) && !isPanic(err)
}

func isPanic(err error) bool {
	_, ok := err.(*PanicError)
	return ok
}

// failed counts and reports a reconcile that has failed.
func (c *Controller) failed(ctx context.Context, key types.NamespacedName, err error) {
	c.counts.reconciled(key, err)
	c.report(ctx, key, err)
}

// report tells of an error: to OnError if there is one, and else to the log, whose
// logger knows the key.
func (c *Controller) report(ctx context.Context, key types.NamespacedName, err error) {
	logger := klog.FromContext(ctx)
	if c.options.OnError != nil {
		defer func() {
			if v := recover(); v != nil {
				logger.Error(&PanicError{Key: key, Value: v, Stack: debug.Stack()}, "OnError panicked", "about", err.Error())
			}
		}()
		c.options.OnError(ctx, key, err)
		return
	}
	if p, ok := err.(*PanicError); ok {
		logger = logger.WithValues("stack", string(p.Stack))
	}
	logger.Error(err, "One key failed; the others go on", "permanent", isPermanent(err))
}
