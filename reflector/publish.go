package reflector

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// compare begins a diff against what the sink holds.
func (r *Reflector[T]) compare(ctx context.Context) (*diff[T], error) {
	r.follow(false)
	r.broken.listing()
	known, err := r.sink.Known(ctx)
	if err != nil {
		return nil, r.sinkError(err)
	}
	d := newDiff[T](known, !r.doubt && !r.unversioned)
	// Nothing of the first state may be seen before all of it, and a state that
	// cannot be compared is no difference.
	if d.trust && r.published && hasVersion(r.version) {
		d.budget, d.since = r.opts.relistBudget(known.Len()), r.highest()
	}
	return d, nil
}

// highest returns the highest version of which the sink may hold something.
func (r *Reflector[T]) highest() string {
	if r.mixed != "" {
		return r.mixed
	}
	return r.version
}

// relieve pushes what a state has changed so far, if that is more than the
// budget. Until the state is complete, the sink holds a mixture, of which it is
// told no more than the version before: a list that breaks off now is followed by
// one that is compared with the mixture. A state that may be older than what is held
// is not pushed in parts: whether to follow it is decided when its version is known.
func (r *Reflector[T]) relieve(ctx context.Context, d *diff[T]) error {
	if !d.over() {
		return nil
	}
	part := d.part()
	r.mixed = d.newest(part)
	r.report.Parts++
	r.report.Changes += len(part)
	r.update(func(s *Status) { s.Mixed = true })
	if err := r.sink.Push([]deltafifo.Delta[T]{{Type: deltafifo.Replaced, Version: r.version, Items: part}}); err != nil {
		return r.sinkError(err)
	}
	known, err := r.sink.Known(ctx)
	if err != nil {
		return r.sinkError(err)
	}
	d.known, d.none = known, known.Len() == 0
	return nil
}

// collect adds an object of a state to the diff.
func (r *Reflector[T]) collect(ctx context.Context, d *diff[T], it *Item[T]) {
	if it.Unchanged {
		r.report.Skipped++
		d.stays(it)
		return
	}
	if r.isNameless(it) {
		d.nameless++
		r.reject(ctx, it, it.Err)
		return
	}
	// An object that is held as it is needs no other copy, good or not.
	if !d.wants(it) {
		return
	}
	err := it.Err
	if err == nil {
		if err = r.transformed(it); err == nil {
			d.keep(it, r.pushed(it.Version))
			r.broken.unmet(it.Key)
			return
		}
	}
	// What is held stays, if it is an older state of the same object.
	if uid, _, held := d.known.Lookup(it.Key); !held || it.UID == "" || uid == it.UID {
		d.met(it.Key)
	}
	r.reject(ctx, it, err)
}

// publish pushes the changes that lead to a complete state.
func (r *Reflector[T]) publish(ctx context.Context, d *diff[T], version string) error {
	replaced := deltafifo.Delta[T]{Type: deltafifo.Replaced, Version: version, Items: d.finish(r.pushed(version))}
	before := r.highest()
	order, ok := compareVersions(version, before)
	synced := false
	// Before the push: a sink that applies it may look, and so may those who wait
	// for it.
	r.update(func(s *Status) {
		if ok && order < 0 {
			s.Epoch++
		}
		synced, s.Synced = s.Synced, true
	})
	// Before the push, too: who waits for it may start others.
	r.ladder.worked(r.report.Streamed)
	if err := r.sink.Push([]deltafifo.Delta[T]{replaced}); err != nil {
		r.update(func(s *Status) { s.Synced = synced })
		return r.sinkError(err)
	}
	r.version, r.mixed, r.mustList, r.doubt, r.published = version, "", false, false, true
	if !hasVersion(version) {
		// No watch from here can tell what was deleted meanwhile. It is asked for as
		// the server has said: some fakes know "0", and not the empty version.
		r.mustList, r.why = true, "there is no version to resume from"
	}
	r.order = r.newOrder()
	r.order.streamed = r.report.Streamed
	r.restarts, r.short, r.stateAt = 0, 0, time.Now()
	r.report.Changes += len(replaced.Items)
	r.silence.read(r.report.Changes)
	r.endReport(ctx, nil)
	r.update(func(s *Status) {
		s.Version, s.Objects, s.LastList, s.Mixed = r.version, d.len(), r.report.ListReport, false
		s.Stale += uint64(d.stale)
		s.Unaccounted = uint64(d.nameless)
	})
	r.spare(d)
	r.reachedState(before)
	r.absence = absence{}
	r.broken.listed()
	r.opts.Group.met(&r.member)
	r.follow(true)
	r.mend()
	return nil
}

// spare marks what stays although the state seems to lack it. Where objects can be
// read by their names, that will tell; where not, the next state without nameless
// objects does.
func (r *Reflector[T]) spare(d *diff[T]) {
	for _, s := range d.spared {
		r.broken.add(&ObjectError{
			Resource: r.opts.Name, Key: s.key, UID: s.uid, Version: s.version, Stage: StageDecode, Err: errUnaccounted,
		})
	}
	for key := range d.seen {
		if r.namespaced = r.namespaced || key.Namespace != ""; r.namespaced {
			break
		}
	}
}

// isNameless reports whether nobody can tell which object it is: its name could not
// be read, or its namespace. it has no key from then on.
func (r *Reflector[T]) isNameless(it *Item[T]) bool {
	switch {
	case it.Err == nil:
		return false
	case it.Key.Name == "":
	case it.Key.Namespace == "" && r.namespaced:
		it.Err = fmt.Errorf("the namespace of %q cannot be read: %w", it.Key.Name, it.Err)
	default:
		return false
	}
	it.Key = types.NamespacedName{}
	return true
}

// toWatch goes on from a state that was published.
func (r *Reflector[T]) toWatch(how string, d *diff[T]) transition {
	return transition{to: Watching, reason: fmt.Sprintf("%s %d objects at version %s", how, d.len(), r.version)}
}
