package reflector

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// verdict says what to do with an event.
type verdict uint8

const (
	// fresh is newer than all before it.
	fresh verdict = iota
	// replayed was passed on before, or has been overtaken by a newer state
	// of the same object.
	replayed
	// late is older than other objects' events and newer than all of its own.
	late
	// lost might be either: it is too old to tell.
	lost
	// overtaken is a replay, or belongs to a streaming list whose end came
	// before it: what the sink holds decides.
	overtaken
)

// memory is the number of events that order remembers: far more than any
// server or proxy was seen to mix up, and few enough for an idle watch.
const memory = 256

// order is the resource-version clock of one watch, and judges its events. A
// server sends them in order, once, and only those after the version that the
// watch resumed from (k8s.io/apiserver, storage/cacher). What stands between may
// not, and neither a replay nor a swap may take an object back or lose a change.
type order struct {
	// floor is the version that the watch resumed from, last the clock.
	// Without a floor the clock stands still: then a server sends first what
	// was there, in no order of versions.
	floor, last string
	// unversioned lets everything pass: versions mean nothing.
	unversioned bool
	// streamed says that floor is the end of a streaming list, and that this
	// watch is the rest of that stream.
	streamed bool
	// beyond is the highest version that came before the end of that list and
	// belongs behind it; empty if none did. What else was there up to it is not
	// known.
	beyond string
	// recent are the last events passed, as a ring once it is full, and
	// forgotten is the highest version that has fallen out of it.
	recent    []passed
	oldest    int
	forgotten string
}

type passed struct {
	key     types.NamespacedName
	version string
}

// judge says what the event is, and moves the clock.
func (o *order) judge(key types.NamespacedName, version string) verdict {
	if !hasVersion(o.floor) || !hasVersion(version) {
		return fresh
	}
	ahead, ok := compareVersions(version, o.last)
	if !ok || ahead > 0 {
		o.last = version
		if ok && !o.unversioned {
			o.remember(key, version)
		}
		return fresh
	}
	if o.unversioned {
		return fresh
	}
	return o.behind(key, version)
}

// behind judges an event that is not ahead of the clock.
func (o *order) behind(key types.NamespacedName, version string) verdict {
	if above, _ := compareVersions(version, o.floor); above <= 0 {
		if o.streamed && o.forgotten == "" && !o.hasPassed(key) {
			return overtaken
		}
		return replayed
	}
	for _, unknown := range [...]string{o.beyond, o.forgotten} {
		if above, _ := compareVersions(version, unknown); unknown != "" && above <= 0 {
			return lost
		}
	}
	for i := range o.recent {
		before := &o.recent[i]
		if before.version == version {
			return replayed
		}
		if newer, _ := compareVersions(before.version, version); newer > 0 && before.key == key {
			return replayed
		}
	}
	o.remember(key, version)
	return late
}

// follow goes on from the end of a streaming list. A change that belongs behind the
// end and came before it is in the list, and moves the clock as if it had come in
// its place.
func (o *order) follow(end ending) {
	if end.newest != end.version {
		o.floor, o.last, o.beyond = end.version, end.newest, end.newest
	}
}

// hasPassed reports whether one of the recent events was about key.
func (o *order) hasPassed(key types.NamespacedName) bool {
	return slices.ContainsFunc(o.recent, func(p passed) bool { return p.key == key })
}

// bookmark moves the clock and reports whether it moved.
func (o *order) bookmark(version string) bool {
	if !hasVersion(o.floor) || !hasVersion(version) {
		return false
	}
	if ahead, ok := compareVersions(version, o.last); ok && ahead <= 0 {
		return false
	}
	moved := o.last != version
	o.last = version
	return moved
}

func (o *order) remember(key types.NamespacedName, version string) {
	if len(o.recent) < memory {
		o.recent = append(o.recent, passed{key, version})
		return
	}
	old := &o.recent[o.oldest]
	if higher, _ := compareVersions(old.version, o.forgotten); o.forgotten == "" || higher > 0 {
		o.forgotten = old.version
	}
	*old = passed{key, version}
	o.oldest = (o.oldest + 1) % memory
}
