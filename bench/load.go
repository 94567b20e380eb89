package main

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// load is what goes through a pipeline: a collection, and newer versions of its
// objects, which go round and round the collection, or the hot part of it. All of it is built before
// anything is measured.
//
// An event brings an object that neither the store nor a handler knows, with a
// version that no other event has; only what it points to is shared by the
// versions of a pod, and index values stay. To have a great many events in a
// small heap, objects that everybody has forgotten come back under new versions.
type load struct {
	initial []*corev1.Pod
	// hot is the number of objects that events are about.
	hot int
	// spares[k] are the objects of one round.
	spares [][]*corev1.Pod
	// versions are those of the events.
	versions []string
}

// newLoad makes a load of so many pods, and so many events of the first hot of
// them. 0 means all.
func newLoad(pods, hot, events int) *load { return newLoadOf(makePod, pods, hot, events) }

func newLoadOf(pod func(i int) *corev1.Pod, pods, hot, events int) *load {
	if hot == 0 {
		hot = pods
	}
	l := &load{hot: hot, versions: make([]string, events)}
	for i := range pods {
		l.initial = append(l.initial, pod(i))
	}
	// The slowest handler may be window events behind; it holds the object of
	// its event and the one before. The store and all others are further on.
	for range window/hot + 3 {
		round := make([]*corev1.Pod, hot)
		for i, p := range l.initial[:hot] {
			round[i] = new(*p)
		}
		l.spares = append(l.spares, round)
	}
	for i := range l.versions {
		l.versions[i] = strconv.Itoa(pods + 1 + i)
	}
	return l
}

// event returns the object of the i-th event. It may be called when every
// handler has returned from all events up to the i-th but window, and events
// must be taken in order.
func (l *load) event(i int) *corev1.Pod {
	n := l.hot
	p := l.spares[i/n%len(l.spares)][i%n]
	p.ResourceVersion = l.versions[i]
	return p
}

// lastVersion is the version at which the i-th pod ends up.
func (l *load) lastVersion(i int) string {
	n, events := l.hot, len(l.versions)
	if i >= n || i >= events {
		return l.initial[i].ResourceVersion
	}
	return l.versions[(events-1-i)/n*n+i]
}
