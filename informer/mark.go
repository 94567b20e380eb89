package informer

import "slices"

// mark is a wait for all that a listener has been given up to a moment.
type mark struct {
	// stamp is the number of batches that were pushed by then.
	stamp uint64
	told  chan struct{}
}

// mark returns a channel that is closed when everything pending now has been
// told. forget ends the wait.
func (l *processorListener[T]) mark() (told <-chan struct{}, forget func()) {
	m := &mark{told: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	m.stamp = l.pending.pushed
	l.marks = append(l.marks, m)
	l.settleMarks()
	return m.told, func() { l.forget(m) }
}

func (l *processorListener[T]) forget(m *mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = slices.DeleteFunc(l.marks, func(other *mark) bool { return other == m })
}

// settleMarks ends the waits for what has been told. Whoever takes says by
// taking again that it has told what it took, so a mark costs nothing where there
// is none. The caller holds mu.
func (l *processorListener[T]) settleMarks() {
	if len(l.marks) == 0 {
		return
	}
	told, n := l.pending.told(), 0
	for n < len(l.marks) && l.marks[n].stamp <= told {
		close(l.marks[n].told)
		n++
	}
	l.marks = slices.Delete(l.marks, 0, n)
}
