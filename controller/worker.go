package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/workqueue"
)

// work reconciles one key after another until hiring ends.
func (s *shift) work(hiring context.Context) {
	for {
		key, err := s.queue.Get(hiring)
		if err != nil {
			return // hiring has ended, or the queue is closed
		}
		if !s.mayStart() {
			return // and so does the run: the key is dropped with the queue
		}
		s.turn(key)
	}
}

// turn reconciles one key and gives it back. Each part of the end is deferred: a
// function of the user, OnError among them, may end the goroutine in any of them.
func (s *shift) turn(key types.NamespacedName) {
	ctx := klog.NewContext(s.ctx, klog.FromContext(s.ctx).WithValues("key", key))
	s.mu.Lock()
	s.busy[key] = time.Now()
	s.mu.Unlock()
	b := &book{shift: s, key: key}
	ctx = context.WithValue(ctx, bookKey{}, b)
	returned, result := false, workqueue.Result{Err: ErrExited}
	defer func() {
		if err := s.queue.Done(key, result); err != nil {
			s.report(ctx, key, err)
		}
	}()
	defer b.close()
	defer func() {
		s.mu.Lock()
		delete(s.busy, key)
		s.mu.Unlock()
	}()
	defer func() {
		if !returned {
			s.failed(ctx, key, ErrExited)
		}
	}()
	result = s.once(ctx, key)
	returned = true
}

// once reconciles one key and says what becomes of it.
func (c *Controller) once(ctx context.Context, key types.NamespacedName) workqueue.Result {
	result, err := c.timed(ctx, key)
	switch {
	case err == nil:
		c.counts.reconciled(key, nil)
		return workqueue.Result{After: result.RequeueAfter}
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		// Stopped in the middle: not the fault of the key.
		c.counts.stopped()
		return workqueue.Result{}
	}
	c.failed(ctx, key, err)
	if isPermanent(err) {
		return workqueue.Result{Err: err, Drop: true}
	}
	return workqueue.Result{Err: err, After: pause(result, err)}
}

// pause is the time before the retry that a result or its error asks for, 0 for
// that of the back-off.
func pause(result Result, err error) time.Duration {
	var asks *retryError
	if result.RequeueAfter == 0 && errors.As(err, &asks) {
		return asks.after
	}
	return result.RequeueAfter
}

// timed calls the reconciler with a context that ends when its time is over.
func (c *Controller) timed(ctx context.Context, key types.NamespacedName) (Result, error) {
	if c.options.Timeout == 0 {
		return c.protected(ctx, key)
	}
	cause := fmt.Errorf("%w after %v", ErrTimeout, c.options.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, cause)
	defer cancel()
	result, err := c.protected(ctx, key)
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == cause && !isPanic(err) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return result, err
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

// failed counts and reports a reconcile that has failed. The log is told of a
// permanent error once.
func (c *Controller) failed(ctx context.Context, key types.NamespacedName, err error) {
	known := c.counts.reconciled(key, err)
	if !known || c.options.OnError != nil {
		c.report(ctx, key, err)
	}
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
