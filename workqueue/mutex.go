package workqueue

import "sync"

// mutex is a [sync.Mutex] for a lock that many goroutines take all the time, each
// for some hundred nanoseconds. Of those who find it taken, one at a time waits at
// the lock itself, and the others wait behind the gate for that place.
//
// A plain mutex lets them all wait at the lock. Each unlock then wakes one, which
// often finds the lock taken again and queues once more, and with a few more
// goroutines than processors that costs several times what the queue itself does:
// 16 workers took 2,700 to 3,400 nanoseconds of CPU for each key that way, and take
// 420 to 440 with the gate (BenchmarkAddGetDone, two processors). Spinning is no way
// out: then the processors really alternate, and fetch from each other what the
// other one has just written.
//
// Nobody starves: both mutexes hand themselves over when somebody has waited for a
// millisecond.
type mutex struct {
	gate sync.Mutex // held while its holder waits for lock
	lock sync.Mutex
}

// Lock waits for the lock and takes it.
func (m *mutex) Lock() {
	if m.lock.TryLock() {
		return
	}
	m.gate.Lock()
	m.lock.Lock()
	m.gate.Unlock()
}

// Unlock gives the lock back.
func (m *mutex) Unlock() { m.lock.Unlock() }
