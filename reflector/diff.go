package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// diff compares a whole state, object by object as it is read, with what the
// sink holds, and keeps only what differs.
type diff[T any] struct {
	known Known
	// none is set if known has nothing, and need not be asked.
	none bool
	// trust says that an equal version means an equal object, and a lower one
	// an older object. It is off where versions mean nothing, and where the
	// server itself went back in time.
	trust bool
	// budget bounds what is kept, if it is not 0. Nothing is given away before
	// the state is known to be ahead of version since, which is that of known.
	budget int
	since  string
	ahead  bool
	// seen holds each key that the state has: its place in kept, or notKept.
	seen map[types.NamespacedName]int
	kept row[T]
	// gone holds the versions of the deletes that came with a streaming list:
	// what is older and comes later is not there any more.
	gone map[types.NamespacedName]string
	// strange is set if seen may have keys that are neither kept nor known.
	strange bool
	// stale counts the objects that were older than what is held, and nameless
	// those of which it could not be read which they are.
	stale, nameless int
	// spared are the objects that the state seems to lack, and that stay as they
	// are held because each may be one of the nameless.
	spared []spared
}

type spared struct {
	key     types.NamespacedName
	uid     types.UID
	version string
}

// notKept is the place of a key whose object stays as it is held.
const notKept = -1

func newDiff[T any](known Known, trust bool) *diff[T] {
	return &diff[T]{known: known, none: known.Len() == 0, trust: trust, seen: make(map[types.NamespacedName]int, known.Len())}
}

// wants reports whether the state of the object must be kept. If not, it has
// been marked as seen.
func (d *diff[T]) wants(it *Item[T]) bool {
	if d.isGone(it) {
		return false
	}
	if place, again := d.seen[it.Key]; again && place != notKept {
		// One key twice: the list was read while the server changed. The
		// newer state counts.
		before := d.kept.at(place)
		order, ok := compareVersions(it.Version, before.Version)
		return before.UID != it.UID || !ok || order > 0
	}
	if d.none {
		return true
	}
	uid, version, held := d.known.Lookup(it.Key)
	if !held || uid != it.UID || !d.trust || !hasVersion(it.Version) {
		return true
	}
	if version == it.Version {
		d.mark(it.Key)
		return false
	}
	if order, ok := compareVersions(it.Version, version); ok && order < 0 {
		d.stale++
		d.mark(it.Key)
		return false
	}
	return true
}

// at tells that something in the state, or all of it, is of version.
func (d *diff[T]) at(version string) {
	if d.budget > 0 && !d.ahead {
		order, ok := compareVersions(version, d.since)
		d.ahead = ok && order > 0
	}
}

// keep takes the state of an object that is wanted.
func (d *diff[T]) keep(it *Item[T], version string) {
	d.at(version)
	delta := deltafifo.Delta[T]{Type: deltafifo.Added, Key: it.Key, UID: it.UID, Version: version, Object: it.Object}
	if place, again := d.seen[it.Key]; again && place != notKept {
		*d.kept.at(place) = delta
		return
	}
	d.seen[it.Key] = d.kept.len()
	d.kept.append(delta)
}

// stays takes an object of which the state that is held was read.
func (d *diff[T]) stays(it *Item[T]) {
	if d.isGone(it) {
		return
	}
	if place, again := d.seen[it.Key]; again && place != notKept {
		if !d.wants(it) {
			return
		}
		*d.kept.at(place) = deltafifo.Delta[T]{}
	}
	d.seen[it.Key] = notKept
}

// mark tells that the key is there, and that what is held stays.
func (d *diff[T]) mark(key types.NamespacedName) {
	if _, again := d.seen[key]; !again {
		d.seen[key] = notKept
	}
}

// met tells that the key is there, with a state that nobody can use. What is held,
// if anything, stays.
func (d *diff[T]) met(key types.NamespacedName) {
	d.strange = true
	d.mark(key)
}

// forget takes a delete of version, empty if that means nothing, and reports
// whether the key is gone: not if the state has something newer of it.
func (d *diff[T]) forget(key types.NamespacedName, version string) bool {
	place, seen := d.seen[key]
	has := ""
	switch {
	case seen && place != notKept:
		has = d.kept.at(place).Version
	case seen && d.trust:
		_, has, _ = d.known.Lookup(key)
	}
	if order, ok := compareVersions(has, version); ok && order >= 0 {
		return false
	}
	if seen && place != notKept {
		*d.kept.at(place) = deltafifo.Delta[T]{}
	}
	delete(d.seen, key)
	if hasVersion(version) {
		if d.gone == nil {
			d.gone = make(map[types.NamespacedName]string)
		}
		d.gone[key] = version
	}
	return true
}

// isGone reports whether the object was deleted after the state of it.
func (d *diff[T]) isGone(it *Item[T]) bool {
	version, gone := d.gone[it.Key]
	if !gone {
		return false
	}
	order, ok := compareVersions(it.Version, version)
	return ok && order <= 0
}

// has reports whether the state has the key so far.
func (d *diff[T]) has(key types.NamespacedName) bool {
	_, seen := d.seen[key]
	return seen
}

// len is the number of objects in the state.
func (d *diff[T]) len() int { return len(d.seen) }

// over reports whether more is kept than may be, of a state that is no older than
// what is held.
func (d *diff[T]) over() bool { return d.ahead && d.kept.len() > d.budget }

// newest returns the highest version that was given away in parts, or since.
func (d *diff[T]) newest(part []deltafifo.Delta[T]) string {
	newest := d.since
	for i := range part {
		if order, ok := compareVersions(part[i].Version, newest); ok && order > 0 {
			newest = part[i].Version
		}
	}
	return newest
}

// part returns the changes so far, without what is missing, and keeps them no
// more. Before the next object comes, known must show them.
func (d *diff[T]) part() []deltafifo.Delta[T] {
	for i := range d.kept.len() {
		if delta := d.kept.at(i); delta.Type != 0 {
			d.seen[delta.Key] = notKept
		}
	}
	return d.changes(nil)
}

// all reports whether everything known has been seen. Then nobody need go through
// it to find what is missing.
func (d *diff[T]) all() bool {
	if d.strange {
		return false
	}
	held := len(d.seen)
	for i := range d.kept.len() {
		if delta := d.kept.at(i); delta.Type != 0 {
			if _, _, known := d.known.Lookup(delta.Key); !known {
				held--
			}
		}
	}
	return held == d.known.Len()
}

// finish returns the changes that lead to the state, which is that of version:
// deletes first, then the objects in the order of the server.
//
// Nobody saw the deletes, so their versions are the lowest that are known to be
// no lower than the true ones: that of the state, or of the object that has
// taken the place.
//
// With nameless objects in the state, nobody knows what is missing: nothing is
// deleted then, and spared has what may be gone.
func (d *diff[T]) finish(version string) []deltafifo.Delta[T] {
	if d.none || d.all() {
		return d.changes(nil)
	}
	var items []deltafifo.Delta[T]
	for key := range d.known.Keys() {
		if _, seen := d.seen[key]; seen {
			continue
		}
		uid, held, _ := d.known.Lookup(key)
		if d.nameless > 0 {
			d.spared = append(d.spared, spared{key, uid, held})
			continue
		}
		items = append(items, gone[T](key, uid, version))
	}
	return d.changes(items)
}

// changes appends what is kept to the deletes in items. It is kept no more.
func (d *diff[T]) changes(items []deltafifo.Delta[T]) []deltafifo.Delta[T] {
	for i := range d.kept.len() {
		delta := d.kept.at(i)
		if delta.Type == 0 || d.none {
			continue
		}
		uid, _, held := d.known.Lookup(delta.Key)
		switch {
		case !held:
		case uid == delta.UID:
			delta.Type = deltafifo.Updated
		default:
			items = append(items, gone[T](delta.Key, uid, delta.Version))
		}
	}
	return d.kept.drain(items)
}

// gone is the end of an object that nobody saw.
func gone[T any](key types.NamespacedName, uid types.UID, version string) deltafifo.Delta[T] {
	return deltafifo.Delta[T]{Type: deltafifo.Deleted, Key: key, UID: uid, Version: version, FinalStateUnknown: true}
}
