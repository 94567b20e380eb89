package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// replicas is a controller whose keys want one child for each step, created when it
// is not seen.
type replicas struct {
	srv      *server
	children *informer.Informer[*corev1.Pod]
	receipts bool
	created  atomic.Int64
}

const steps, slowness = 10, 500 * time.Millisecond

// reconcile creates the first child that is missing, with a name that the server
// could have made up.
func (r *replicas) reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	for step := range steps {
		n, err := r.children.Store().Count("step", fmt.Sprint(key.Name, "/", step))
		if err != nil {
			return Result{}, err
		}
		if n > 0 {
			continue
		}
		create := func() (*corev1.Pod, error) {
			child := newPod(fmt.Sprint(key.Name, "-", r.created.Add(1)), key.Name)
			child.Labels = map[string]string{"step": fmt.Sprint(key.Name, "/", step)}
			r.srv.put(child)
			return child, nil
		}
		if r.receipts {
			_, err = Write(ctx, r.children, create)
		} else {
			_, err = create()
		}
		return Result{RequeueAfter: 10 * time.Millisecond}, err
	}
	return Result{}, nil
}

// play lets many keys create their children while the watch is slow, and returns the
// number of children that are too many, and that of the reconciles of a key that has
// nothing to do with it.
func (r *replicas) play(t *testing.T, keys int) (duplicates, quiet int) {
	r.srv = newServer()
	r.srv.delay = slowness
	r.children = newInformer(t, r.srv)
	err := r.children.AddIndexes(indexer.Indexes[*corev1.Pod]{"step": {Values: func(pod *corev1.Pod, values []string) ([]string, error) {
		return append(values, pod.Labels["step"]), nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, r.children)
	var others atomic.Int64
	c := newController(t, func(ctx context.Context, key types.NamespacedName) (Result, error) {
		if key.Name == "quiet" {
			others.Add(1)
			return Result{RequeueAfter: 10 * time.Millisecond}, nil
		}
		return r.reconcile(ctx, key)
	}, Options{Workers: 50})
	mustWatch(t, c, r.children, Owner[*corev1.Pod](replicaSet))
	stop := run(t, c)
	add(t, c, "quiet")
	for i := range keys {
		add(t, c, fmt.Sprint("owner", i))
	}
	time.Sleep((steps + 1) * slowness)
	synctest.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
	steps := map[string]int{}
	for pod := range r.children.Store().All() {
		steps[pod.Labels["step"]]++
	}
	for _, n := range steps {
		duplicates += n - 1
	}
	if s := c.Status(); s.Errors != 0 || s.Unseen != 0 {
		t.Errorf("%+v", s.Counters)
	}
	return duplicates, int(others.Load())
}

// TestAReconcileSeesWhatTheLastOneWrote: field report 65, for a whole controller.
func TestAReconcileSeesWhatTheLastOneWrote(t *testing.T) {
	const inTime = int((steps+1)*slowness/(10*time.Millisecond)) + 1
	bubble(t, "so 10,000 reconciles create no child twice, and others are not slowed", func(t *testing.T) {
		r := &replicas{receipts: true}
		duplicates, quiet := r.play(t, 1000)
		if n := r.created.Load(); n != 1000*steps || duplicates != 0 {
			t.Errorf("%d created, want %d; %d duplicates", n, 1000*steps, duplicates)
		}
		if quiet != inTime {
			t.Errorf("%d reconciles of another key, want %d", quiet, inTime)
		}
	})
	bubble(t, "and without receipts it does not", func(t *testing.T) {
		r := &replicas{}
		if duplicates, _ := r.play(t, 3); duplicates == 0 {
			t.Errorf("no duplicates among %d: this test could not fail", r.created.Load())
		}
	})
}
