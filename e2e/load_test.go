package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// loadNamespace holds what most informers read.
	loadNamespace = "load"
	// fillers is the number of goroutines that fill the namespace.
	fillers = 16
	// colorLabel is what the filtered handlers look at.
	colorLabel = "color"
	// sentinel is an object of each kind that is written after all others: who
	// sees its newest version has seen everything.
	sentinel = "sentinel"
)

// kind is a kind of objects that the tests write and read.
type kind struct {
	name   string // as in the API
	plural string
	number int // how many there are in loadNamespace
	object func(meta metav1.ObjectMeta) runtime.Object
}

var configMaps = kind{"ConfigMap", "configmaps", 10_000, func(m metav1.ObjectMeta) runtime.Object {
	return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"text": strings.Repeat("x", 400)}}
}}

var pods = kind{"Pod", "pods", 1_000, func(m metav1.ObjectMeta) runtime.Object {
	return &corev1.Pod{ObjectMeta: m, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "registry.example/main:1"}},
	}}
}}

var kinds = []kind{configMaps, pods}

// writer writes objects of a kind through a stock client.
type writer struct {
	client    rest.Interface
	namespace string
	kind      kind
}

func (w writer) create(ctx context.Context, name, color string) error {
	o := w.kind.object(metav1.ObjectMeta{Name: name, Labels: map[string]string{colorLabel: color}})
	return w.client.Post().Namespace(w.namespace).Resource(w.kind.plural).Body(o).Do(ctx).Error()
}

// paint changes an object and returns the version that it has then.
func (w writer) paint(ctx context.Context, name, color string, stamp int) (string, error) {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q},"annotations":{"stamp":"%d"}}}`, colorLabel, color, stamp)
	o, err := w.client.Patch(types.MergePatchType).Namespace(w.namespace).Resource(w.kind.plural).
		Name(name).Body([]byte(patch)).Do(ctx).Get()
	if err != nil {
		return "", err
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return "", err
	}
	return m.GetResourceVersion(), nil
}

func (w writer) delete(ctx context.Context, name string) error {
	now := int64(0) // no kubelet is there to end a pod gracefully
	return w.client.Delete().Namespace(w.namespace).Resource(w.kind.plural).Name(name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &now}).Do(ctx).Error()
}

var fillOnce sync.Once

// fillLoad makes the objects of loadNamespace, for the first test that wants them.
func fillLoad(t *testing.T) {
	t.Helper()
	fillOnce.Do(func() {
		c := client(t, protobufConfig())
		makeNamespace(t, c, loadNamespace)
		for _, k := range kinds {
			fill(t, c, loadNamespace, k, k.number)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// fill makes objects of a kind, the sentinel among them.
func fill(t *testing.T, c *kubernetes.Clientset, namespace string, k kind, number int) {
	t.Helper()
	began := time.Now()
	w := writer{c.CoreV1().RESTClient(), namespace, k}
	err := parallel(fillers, number, func(n int) error {
		name := fmt.Sprintf("%s-%05d", k.plural, n)
		if n == 0 {
			name = sentinel
		}
		return w.create(t.Context(), name, colors[n%len(colors)])
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("created %d %s in %v", number, k.plural, time.Since(began).Round(time.Millisecond))
}

// parallel calls f for 0 to n-1 from several goroutines, waits for them, and
// returns what failed. After an error a goroutine stops.
func parallel(goroutines, n int, f func(int) error) error {
	errs := make([]error, goroutines)
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := g; i < n && errs[g] == nil; i += goroutines {
				errs[g] = f(i)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
