package informer

import "slices"

// mark is a wait for all that a listener has been given up to a moment.
type mark struct {
	// at is the position that the log had come to by then.
	at   uint64
	told chan struct{}
}

// mark returns a channel that is closed when everything pending now has been
// told. forget ends the wait.
func (l *processorListener[T]) mark() (told <-chan struct{}, forget func()) {
	m := &mark{told: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	m.at = l.backlog.log.tail.Load()
	l.marks = append(l.marks, m)
	l.settleMarks()
	return m.told, func() { l.forget(m) }
}

func (l *processorListener[T]) forget(m *mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = slices.DeleteFunc(l.marks, func(other *mark) bool { return other == m })
}

// nextMark returns the position of the first mark that the listener has not read up
// to, 0 if there is none. What is taken at once ends there: what comes after it
// does not put off its end. The caller holds mu.
func (l *processorListener[T]) nextMark() uint64 {
	for _, m := range l.marks {
		if m.at > l.backlog.cursor.at.Load() {
			return m.at
		}
	}
	return 0
}

// settleMarks ends the waits for what has been told. Whoever takes says by
// taking again that it has told what it took, so a mark costs nothing where there
// is none. The caller holds mu.
func (l *processorListener[T]) settleMarks() {
	if len(l.marks) == 0 || !l.toldInitial {
		return
	}
	told, n := l.backlog.told(), 0
	for n < len(l.marks) && l.marks[n].at <= told {
		close(l.marks[n].told)
		n++
	}
	l.marks = slices.Delete(l.marks, 0, n)
}
