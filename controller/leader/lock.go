package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var (
	errNotRenewed = errors.New("not renewed")
	errTaken      = errors.New("another process has it")
	errOver       = errors.New("the term is over")
)

// lock is the Lease as client-go's elector sees it. It notes when each renewal was
// sent, ends a tenure as soon as another holder shows, gives each request a time of its
// own, and lets nobody write once a tenure is over: the lease of one that was lost must
// run out, for work may still go on.
type lock struct {
	resourcelock.Interface
	*Election
}

// Get reads the record.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel, err := l.enterRequest(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer cancel()
	record, raw, err := l.Interface.Get(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(err)
	if err != nil {
		return nil, nil, err
	}
	l.holder = record.HolderIdentity
	if l.tenure != nil && record.HolderIdentity != l.Identity() {
		l.tenure.lose(fmt.Errorf("%w: %q", errTaken, record.HolderIdentity))
	}
	return record, raw, nil
}

// Create makes the Lease with this process as its holder.
func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update takes the lease, renews it, or, with no holder in the record, releases it.
func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, do func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel, err := l.enterRequest(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	sent := time.Now()
	err = do(ctx, record)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(err)
	if err != nil {
		return err
	}
	l.holder = record.HolderIdentity
	if record.HolderIdentity != l.Identity() {
		return nil // released
	}
	return l.renewed(sent)
}

// renewed begins a tenure or prolongs it. It is an error if the answer came after the
// renew deadline of what it has renewed, or of what was before.
func (l lock) renewed(sent time.Time) error {
	now := time.Now()
	if l.tenure == nil {
		if now.Sub(sent) >= l.options.RenewDeadline {
			return fmt.Errorf("the answer took %v: %w", now.Sub(sent), errNotRenewed)
		}
		l.beginTenure(sent)
		return nil
	}
	l.tenure.check(now)
	if l.tenure.lost != nil {
		return l.tenure.lost
	}
	l.tenure.renew(sent)
	return nil
}

// enterRequest gives a request its time, unless it may not be sent any more.
func (l lock) enterRequest(ctx context.Context) (context.Context, context.CancelFunc, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tenure; t != nil && (t.lost != nil || t.dirty) {
		return nil, nil, errOver
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.RenewDeadline/2)
	return ctx, cancel, nil
}

// Identity is that of this process.
func (l lock) Identity() string { return l.options.Identity }
