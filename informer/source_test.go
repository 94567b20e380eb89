package informer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// world is a server of ConfigMaps in memory: one version counter, a history, and
// faults on demand. It is a reflector.Source.
type world struct {
	mu        sync.Mutex
	version   int
	uids      int
	objects   map[types.NamespacedName]*corev1.ConfigMap
	history   []reflector.Event[*corev1.ConfigMap]
	compacted int
	watches   map[*worldWatch]bool
	refuse    error
	lists     int
	opened    int
}

type configMapItem = reflector.Item[*corev1.ConfigMap]

func newWorld() *world {
	return &world{objects: map[types.NamespacedName]*corev1.ConfigMap{}, watches: map[*worldWatch]bool{}}
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

func (w *world) record(t deltafifo.Type, m *corev1.ConfigMap) {
	w.version++
	m = m.DeepCopy()
	m.ResourceVersion = strconv.Itoa(w.version)
	k := key(m.Name)
	if t == deltafifo.Deleted {
		delete(w.objects, k)
	} else {
		w.objects[k] = m
	}
	w.history = append(w.history, reflector.Event[*corev1.ConfigMap]{Type: t, Item: itemOf(m)})
	for s := range w.watches {
		s.signal()
	}
}

func itemOf(m *corev1.ConfigMap) configMapItem {
	return configMapItem{Key: key(m.Name), UID: m.UID, Version: m.ResourceVersion, Object: m}
}

// set creates or updates an object.
func (w *world) set(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.objects[key(name)]; ok {
		next := old.DeepCopy()
		next.Data = map[string]string{"v": value}
		w.record(deltafifo.Updated, next)
		return
	}
	w.uids++
	w.record(deltafifo.Added, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(fmt.Sprint("uid-", w.uids))},
		Data:       map[string]string{"v": value},
	})
}

func (w *world) delete(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.objects[key(name)]; ok {
		w.record(deltafifo.Deleted, old)
	}
}

// forget ends all watches and makes their versions too old to resume from.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.compacted, w.history = w.version, nil
	for s := range w.watches {
		s.gone = true
		s.signal()
	}
}

// state returns name=value of each object at the server.
func (w *world) state() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for k, m := range w.objects {
		out[k.Name] = m.Data["v"]
	}
	return out
}

func (w *world) List(_ context.Context, _ metav1.ListOptions, each func(configMapItem) error) (reflector.Page, error) {
	w.mu.Lock()
	w.lists++
	if w.refuse != nil {
		defer w.mu.Unlock()
		return reflector.Page{}, w.refuse
	}
	items, version := w.sorted(), strconv.Itoa(w.version)
	w.mu.Unlock()
	for _, i := range items {
		if err := each(i); err != nil {
			return reflector.Page{}, err
		}
	}
	return reflector.Page{Version: version}, nil
}

func (w *world) sorted() []configMapItem {
	var items []configMapItem
	for _, m := range w.objects {
		items = append(items, itemOf(m))
	}
	slices.SortFunc(items, func(a, b configMapItem) int {
		return slices.Compare([]byte(a.Key.Name), []byte(b.Key.Name))
	})
	return items
}

func (w *world) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[*corev1.ConfigMap], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	if w.refuse != nil {
		return nil, w.refuse
	}
	s := &worldWatch{world: w, wake: make(chan struct{}, 1), at: w.version}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		for _, i := range w.sorted() {
			s.first = append(s.first, reflector.Event[*corev1.ConfigMap]{Type: deltafifo.Added, Item: i})
		}
		end := reflector.Event[*corev1.ConfigMap]{Type: deltafifo.Bookmark, InitialEventsEnd: true}
		end.Version = strconv.Itoa(w.version)
		s.first = append(s.first, end)
	} else {
		s.at, _ = strconv.Atoi(opts.ResourceVersion)
		if s.at < w.compacted {
			return nil, apierrors.NewResourceExpired("too old resource version")
		}
	}
	w.watches[s] = true
	return s, nil
}

// worldWatch is a cursor on the world's history.
type worldWatch struct {
	world  *world
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{}
	first  []reflector.Event[*corev1.ConfigMap]
	at     int
	gone   bool
}

func (s *worldWatch) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *worldWatch) Next() ([]reflector.Event[*corev1.ConfigMap], error) {
	for {
		if out := s.first; len(out) > 0 {
			s.first = nil
			return out, nil
		}
		s.world.mu.Lock()
		if s.gone {
			s.world.mu.Unlock()
			return nil, io.EOF
		}
		from := s.at - s.world.compacted
		out := slices.Clone(s.world.history[from:])
		s.at = s.world.version
		s.world.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

func (s *worldWatch) Stop() {
	s.cancel()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	delete(s.world.watches, s)
}
