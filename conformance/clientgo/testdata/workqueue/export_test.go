package workqueue

// delaysAreKnown reports whether the queue has read all delays that it was told.
func delaysAreKnown(q DelayingInterface) bool {
	return len(q.(*delayingType[any]).waitingForAddCh) == 0
}
