package deltafifo

import (
	"testing"
	"testing/synctest"
	"time"
)

// zeroOutside fails if a slot that is not in use still pins something.
func zeroOutside(t *testing.T, q *DeltaFIFO[string]) {
	t.Helper()
	for name, slots := range map[string][]Delta[string]{
		"before the queue": q.buf.slots[:q.buf.head],
		"behind the queue": q.buf.slots[len(q.buf.slots):cap(q.buf.slots)],
		"in the spare":     q.spare[:cap(q.spare)],
		"behind the batch": q.batchSlots[min(cap(q.batchSlots), len(q.batch)):cap(q.batchSlots)],
	} {
		if name == "behind the batch" && q.batch != nil && cap(q.batch) != cap(q.batchSlots) {
			continue // it begins inside of its slice
		}
		for i, d := range slots {
			if d.Type != 0 || d.Object != "" || d.Version != "" || d.Items != nil {
				t.Fatalf("slot %d %s still holds %+v", i, name, d)
			}
		}
	}
}

func TestSlotsOutOfUseAreCleared(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 5, Budget: 40})
	for i := range 2000 {
		push(t, q, "U k"+itoa(i%9)+"/u@"+itoa(i)+" U j"+itoa(i%7)+"/u@"+itoa(i))
		zeroOutside(t, q)
		if i%3 == 0 {
			pop(t, q)
			zeroOutside(t, q)
		}
	}
}

func TestABatchIsClearedWhenItIsAcknowledged(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 2})
	push(t, q, "A a/u1@1 A b/u2@2 A c/u3@3")
	first, err := q.Pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pop(t, q)
	for _, d := range first {
		if d.Object != "" || d.Version != "" {
			t.Errorf("%+v is still there after the next Pop", d)
		}
	}
}

func TestSlotsThatACompactionFreesAreCleared(t *testing.T) {
	q := newQueue(t, Options{Budget: 5})
	push(t, q, "U a/u@1 U a/u@2 U a/u@3 U a/u@4 U a/u@5 U a/u@6")
	if got := format(q.buf.queued()); got != "U a/u@6" {
		t.Fatalf("queued %s, want one delta", got)
	}
	zeroOutside(t, q)
}

func TestABatchHasNoRoomToAppendTo(t *testing.T) {
	for name, queued := range map[string]string{"part": "A a/u1@1 A b/u2@2", "all": "A a/u1@1"} {
		t.Run(name+" of the queue", func(t *testing.T) {
			q := newQueue(t, Options{BatchSize: 1})
			push(t, q, queued)
			batch, err := q.Pop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = append(batch, parse(t, "A x/u9@9")...)
			zeroOutside(t, q)
		})
	}
}

func TestTheBufferShrinksAfterABurst(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 16, Budget: 1 << 20})
	for i := range 5000 {
		push(t, q, "U k"+itoa(i)+"/u@"+itoa(i))
	}
	if c := cap(q.buf.slots); c < 5000 {
		t.Fatalf("the buffer has %d slots for 5000 deltas", c)
	}
	for q.Len() > 0 {
		pop(t, q)
		if c := cap(q.buf.slots); c > max(idleCapacity, 8*q.Len()) {
			t.Fatalf("the buffer has %d slots for %d deltas", c, q.Len())
		}
	}
	// A trickle that never leaves the queue idle does not need much.
	for i := range 10 {
		push(t, q, "U a/u@"+itoa(5000+i))
		pop(t, q)
	}
	if c := cap(q.buf.slots) + cap(q.spare) + cap(q.batchSlots); c > 2*idleCapacity {
		t.Errorf("%d slots are kept after the burst", c)
	}
}

func TestTheBuffersShrinkInATrickleAfterABurst(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 1000})
	for range 2 {
		for i := range 1000 {
			push(t, q, "U k"+itoa(i)+"/u@"+itoa(i))
		}
		pop(t, q)
	}
	for i := range 3 {
		push(t, q, "U a/u@"+itoa(1000+i))
		pop(t, q)
	}
	if c := cap(q.buf.slots) + cap(q.spare) + cap(q.batchSlots); c > 2*idleCapacity {
		t.Errorf("%d slots are kept after the burst", c)
	}
}

func TestTheBufferShrinksAfterACompaction(t *testing.T) {
	q := newQueue(t, Options{Budget: 2000})
	for i := range 2001 {
		push(t, q, "U a/u@"+itoa(i))
	}
	if n, c := q.Len(), cap(q.buf.slots); n != 1 || c > idleCapacity {
		t.Errorf("%d deltas are queued in %d slots, want 1 in at most %d", n, c, idleCapacity)
	}
}

func TestAnIdleQueueGivesLargeBuffersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		for range 2 {
			for i := range 1000 {
				push(t, q, "U k"+itoa(i)+"/u@"+itoa(i))
			}
			pop(t, q)
		}
		if c := cap(q.batchSlots); c < 1000 {
			t.Fatalf("the batch has %d slots for 1000 deltas", c)
		}
		go pop2(t, q)
		synctest.Wait()
		if c := cap(q.buf.slots) + cap(q.spare) + cap(q.batchSlots); c > 2*idleCapacity {
			t.Errorf("%d slots are kept while idle", c)
		}
		push(t, q, "B@1")
		synctest.Wait()
	})
}

// bursts pushes and pops n bursts of 1000 deltas, with a pause after each in
// which the consumer waits for more.
func bursts(t *testing.T, q *DeltaFIFO[string], n int, pause time.Duration) {
	t.Helper()
	for range n {
		for i := range 1000 {
			push(t, q, "U k"+itoa(i)+"/u@"+itoa(i))
		}
		pop(t, q)
		done := make(chan struct{})
		go func() {
			defer close(done)
			pop2(t, q)
		}()
		time.Sleep(pause)
		synctest.Wait()
		push(t, q, "B@1")
		<-done
	}
}

// slots is what a queue keeps.
func slots(q *DeltaFIFO[string]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return cap(q.buf.slots) + cap(q.spare) + cap(q.batchSlots)
}

func TestBuffersAreKeptInASeriesOfBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		bursts(t, q, seriesLength+3, seriesGap/2)
		if c := slots(q); c < 1000 {
			t.Errorf("only %d slots are kept in a series of bursts of 1000", c)
		}
		go pop2(t, q)
		time.Sleep(seriesGap + 1)
		synctest.Wait()
		if c := slots(q); c > 2*idleCapacity {
			t.Errorf("%d slots are kept while idle", c)
		}
		push(t, q, "B@1")
		synctest.Wait()
	})
}

func TestATrickleAfterASeriesOfBurstsGivesTheBuffersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		bursts(t, q, seriesLength+3, seriesGap/2)
		for i := range 10 {
			push(t, q, "U a/u@"+itoa(1000+i))
			pop(t, q)
			time.Sleep(seriesGap / 5)
		}
		if c := slots(q); c > 2*idleCapacity {
			t.Errorf("%d slots are kept after the bursts", c)
		}
	})
}

func TestBuffersAreGivenBackBetweenRareBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		bursts(t, q, seriesLength+3, seriesGap)
		if c := slots(q); c > 2*idleCapacity {
			t.Errorf("%d slots are kept between rare bursts", c)
		}
	})
}

func TestNoBufferBeyondTheBudgetIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{Budget: 500})
		bursts(t, q, seriesLength+3, seriesGap/2)
		if c := slots(q); c > 2*idleCapacity {
			t.Errorf("%d slots are kept, though each burst was twice the budget", c)
		}
	})
}
