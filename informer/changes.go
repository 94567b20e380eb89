package informer

import "context"

// changes pulls the changes of a listener of its own until ctx ends, the loop's
// body wants no more, or the run ends.
func (i *Informer[T]) changes(ctx context.Context, yield func(Change[T]) bool) {
	l := newListener[T](nil, HandlerOptions[T]{Name: "changes", Budget: DefaultBudget}, i.report)
	l.detector = i.detector
	i.processor.add(l)
	defer i.processor.remove(l)
	_, before, _ := i.life.state()
	for {
		running, stopped, changed := i.life.state()
		if !l.pull(ctx, yield) {
			return
		}
		if stopped && !before {
			return
		}
		before = before && !running
		select {
		case <-l.wake:
		case <-changed:
		case <-ctx.Done():
			return
		}
		l.state.Store(stateRunning)
	}
}

// pull gives the body of the loop what there is. It reports whether the loop goes
// on.
func (l *processorListener[T]) pull(ctx context.Context, yield func(Change[T]) bool) bool {
	for batch := l.take(); batch != nil || !l.park(stateIdle); batch = l.take() {
		for n := range batch {
			if ctx.Err() != nil || !l.yield(yield, batch[n]) {
				return false
			}
			l.delivered.Add(1)
		}
	}
	return true
}

// yield gives a change to the body of the loop.
func (l *processorListener[T]) yield(yield func(Change[T]) bool, c Change[T]) bool {
	if l.detector != nil {
		defer l.detector.calling(l.opts.Name, c)()
	}
	return yield(c)
}
