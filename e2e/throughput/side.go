package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/internal/rawread"
)

const (
	// namespace holds all objects, and mark is an annotation of each.
	namespace = "throughput"
	mark      = "example.com/mark"
	// stamp is the annotation that updates change; its length stays the same.
	stamp       = "example.com/stamp"
	stampFormat = "%08d"
	// writers is how many clients write at the same time.
	writers = 8
)

// side is one of the two servers as the clients see it.
type side struct {
	endpoint endpoint
	http     *http.Client
	core     corev1client.CoreV1Interface
	// pods are the objects as the server returned them last. Each belongs to
	// one writer at a time.
	pods   []*corev1.Pod
	writes int // so far
}

func newSide(ctx context.Context, e endpoint) (*side, error) {
	config := e.config(runtime.ContentTypeProtobuf)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	s := &side{endpoint: e, http: client, core: set.CoreV1()}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err = s.core.Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return s, err
}

// defaulted returns the spec of a pod as the server completes it.
func (s *side) defaulted(ctx context.Context) (corev1.PodSpec, error) {
	pod, err := s.core.Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Spec:       plainSpec(),
	}, metav1.CreateOptions{})
	if err != nil {
		return corev1.PodSpec{}, err
	}
	now := int64(0) // nobody is there to end a pod gracefully
	return pod.Spec, s.core.Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// fill creates n pods. A pod that comes back with managedFields is written once
// more without them, and then they stay away.
func (s *side) fill(ctx context.Context, n int, spec corev1.PodSpec) error {
	s.pods = make([]*corev1.Pod, n)
	return parallel(n, func(i int) error {
		pod, err := s.core.Pods(namespace).Create(ctx, newPod(i, spec), metav1.CreateOptions{})
		if err == nil && len(pod.ManagedFields) > 0 {
			pod.ManagedFields = []metav1.ManagedFieldsEntry{{}}
			pod, err = s.core.Pods(namespace).Update(ctx, pod, metav1.UpdateOptions{})
		}
		s.pods[i] = pod
		return err
	})
}

// write updates the next n pods, in turn.
func (s *side) write(ctx context.Context, n int) error {
	first := s.writes
	s.writes += n
	// Two writers never have the same pod, because a round takes each at most
	// as often as all others.
	for n > 0 {
		part := min(n, len(s.pods))
		err := parallel(part, func(i int) error {
			at := (first + i) % len(s.pods)
			pod := s.pods[at]
			pod.Annotations[stamp] = fmt.Sprintf(stampFormat, first+i+1)
			var err error
			s.pods[at], err = s.core.Pods(namespace).Update(ctx, pod, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return err
		}
		first, n = first+part, n-part
	}
	return nil
}

func (s *side) reader(media string) rawread.Reader {
	return rawread.Reader{
		Client: s.http, Media: media, Mark: mark,
		URL: s.endpoint.Host + "/api/v1/namespaces/" + namespace + "/pods",
	}
}

// watchWrites opens watches, writes, and waits until all of them have been told
// of every write.
func (s *side) watchWrites(ctx context.Context, watches, writes int) error {
	list, err := s.core.Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	var open []*rawread.Watch
	defer func() {
		for _, w := range open {
			_ = w.Close() // a connection in mid-stream
		}
	}()
	for range watches {
		w, err := s.reader(runtime.ContentTypeProtobuf).Watch(ctx, url.Values{"resourceVersion": {list.ResourceVersion}})
		if err != nil {
			return err
		}
		open = append(open, w)
	}
	errs := make([]error, watches+1)
	var running sync.WaitGroup
	for i, w := range open {
		running.Go(func() {
			c, err := w.Events(writes)
			if err == nil && c.Objects != writes {
				err = fmt.Errorf("a watch was told of %d writes, want %d", c.Objects, writes)
			}
			errs[i] = err
		})
	}
	if errs[watches] = s.write(ctx, writes); errs[watches] != nil {
		for _, w := range open {
			_ = w.Close() // what is missing would never come
		}
	}
	running.Wait()
	return errors.Join(errs...)
}

// parallel calls f for 0 to n-1 from all writers, and returns what failed. After
// an error a writer stops.
func parallel(n int, f func(int) error) error {
	errs := make([]error, writers)
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				errs[w] = f(i)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
