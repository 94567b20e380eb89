package controller

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// server is a collection of pods that an informer reads and a test changes.
type server struct {
	mu      sync.Mutex
	version int
	pods    map[types.NamespacedName]*corev1.Pod
	streams map[*stream]bool
	delay   time.Duration // of each event on its way
}

func newServer(pods ...*corev1.Pod) *server {
	s := &server{version: 100, pods: map[types.NamespacedName]*corev1.Pod{}, streams: map[*stream]bool{}}
	for _, pod := range pods {
		s.put(pod)
	}
	return s
}

// newInformer makes an informer of the server's pods.
func newInformer(t *testing.T, s *server) *informer.Informer[*corev1.Pod] {
	t.Helper()
	inf, err := informer.New[*corev1.Pod](s, informer.Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// newPod makes a pod that is controlled by a ReplicaSet if owner is not empty.
func newPod(name, owner string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", name, types.UID(name)
	if owner != "" {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "not-the-controller"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: &yes},
		}
	}
	return pod
}

func (s *server) put(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	pod.ResourceVersion = strconv.Itoa(s.version)
	event := deltafifo.Added
	if s.pods[keyOf(pod)] != nil {
		event = deltafifo.Updated
	}
	s.pods[keyOf(pod)] = pod
	s.tell(event, pod)
}

func (s *server) remove(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	pod := s.pods[key].DeepCopy()
	pod.ResourceVersion = strconv.Itoa(s.version)
	delete(s.pods, key)
	s.tell(deltafifo.Deleted, pod)
}

// bookmark says that the collection has come to a version.
func (s *server) bookmark(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
	s.send(reflector.Event[*corev1.Pod]{Type: deltafifo.Bookmark, Item: reflector.Item[*corev1.Pod]{Version: strconv.Itoa(version)}})
}

func (s *server) tell(event deltafifo.Type, pod *corev1.Pod) {
	s.send(reflector.Event[*corev1.Pod]{Type: event, Item: itemOf(pod)})
}

func (s *server) send(event reflector.Event[*corev1.Pod]) {
	for st := range s.streams {
		st.events <- sent{event, time.Now().Add(s.delay)}
	}
}

func itemOf(pod *corev1.Pod) reflector.Item[*corev1.Pod] {
	return reflector.Item[*corev1.Pod]{Key: keyOf(pod), UID: pod.UID, Version: pod.ResourceVersion, Object: pod}
}

// Streamless makes the reflector list.
func (s *server) Streamless() bool { return true }

func (s *server) List(_ context.Context, _ metav1.ListOptions, each func(reflector.Item[*corev1.Pod]) error) (reflector.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range s.pods {
		if err := each(itemOf(pod)); err != nil {
			return reflector.Page{}, err
		}
	}
	return reflector.Page{Version: strconv.Itoa(s.version)}, nil
}

func (s *server) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[*corev1.Pod], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opts.ResourceVersion != strconv.Itoa(s.version) {
		return nil, fmt.Errorf("watch from %s, but the server is at %d: this test server has no history", opts.ResourceVersion, s.version)
	}
	ctx, cancel := context.WithCancel(ctx)
	st := &stream{ctx: ctx, cancel: cancel, events: make(chan sent, 20000)}
	s.streams[st] = true
	return st, nil
}

type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	events chan sent
}

// sent is an event that arrives at a time.
type sent struct {
	event reflector.Event[*corev1.Pod]
	due   time.Time
}

func (st *stream) Next() ([]reflector.Event[*corev1.Pod], error) {
	select {
	case e := <-st.events:
		time.Sleep(time.Until(e.due))
		return []reflector.Event[*corev1.Pod]{e.event}, nil
	case <-st.ctx.Done():
		return nil, io.EOF
	}
}

func (st *stream) Stop() { st.cancel() }
