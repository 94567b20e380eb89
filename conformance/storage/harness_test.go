package storage_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	upstream "k8s.io/apiserver/pkg/storage"
	suite "k8s.io/apiserver/pkg/storage/testing"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

var codec = newCodec()

func newCodec() runtime.Codec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
}

// harness is one storage under test.
type harness struct {
	*adapter
	memory  *storage.Memory
	backend *transformed
	// cache is nil where the Store is judged by itself.
	cache *cacher.Cacher
}

// newStore returns a Store over a new Memory.
func newStore(t *testing.T) *harness {
	t.Helper()
	h := &harness{memory: storage.NewMemory()}
	h.backend = newTransformed(h.memory)
	store, err := storage.NewStore(h.backend, storage.StoreOptions{
		GroupResource: schema.GroupResource{Resource: "pods"},
		Prefix:        prefix,
		Codec:         codec,
		NewFunc:       func() runtime.Object { return new(example.Pod) },
		Attributes:    attributes,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.adapter = &adapter{ours: store, store: store, watches: new(watches)}
	t.Cleanup(h.watches.stop)
	return h
}

// newCache returns a Cacher in front of a new Store.
func newCache(t *testing.T) *harness {
	t.Helper()
	h := newStore(t)
	var err error
	if h.cache, err = cacher.New(h.store, cacher.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.cache.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the cache ended with %v", err)
		}
	})
	// The first list starts the cache and waits until it is ready.
	if _, err := h.cache.List(ctx, storage.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	h.ours = h.cache
	return h
}

// attributes tells every field that a selector of the suite names.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*example.Pod)
	return pod.Labels, fields.Set{
		"metadata.name":      pod.Name,
		"metadata.namespace": pod.Namespace,
		"spec.nodeName":      pod.Spec.NodeName,
	}, nil
}

// compact forgets what was before a version. The cache asks the store how far
// that is, but its watchers may still be told of what it has in its window.
func (h *harness) compact(ctx context.Context, t *testing.T, resourceVersion string) {
	t.Helper()
	version, err := storage.ParseVersion(resourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.memory.Compact(ctx, version); err != nil {
		t.Fatal(err)
	}
}

// forget is compact, and has the cache forget what it can tell watchers.
func (h *harness) forget(ctx context.Context, t *testing.T, resourceVersion string) {
	t.Helper()
	h.compact(ctx, t, resourceVersion)
	if h.cache == nil {
		return
	}
	// It must have come as far to forget as much.
	if _, err := h.cache.List(ctx, storage.ListOptions{ResourceVersion: resourceVersion}); err != nil {
		t.Fatal(err)
	}
	h.cache.DropHistory()
}

// increase moves the version by a write to another resource.
func (h *harness) increase(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	kv, err := h.memory.Get(ctx, "/other")
	if err == nil {
		kv, _, err = h.memory.Put(ctx, "/other", []byte("changed"), kv.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	return int64(kv.Revision)
}

// checkStored judges what is kept under a key: the object as the codec writes
// it, without what storage knows better.
func (h *harness) checkStored(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	key, err := keyOf(path)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := h.memory.Get(ctx, prefix+storage.KeyString(key))
	if err != nil || kv.Revision == 0 {
		t.Fatalf("%s is not stored: %v", path, err)
	}
	data, ok := bytes.CutPrefix(kv.Value, []byte(defaultPrefix))
	if !ok {
		t.Fatalf("%s was not transformed: %q", path, kv.Value)
	}
	obj, err := runtime.Decode(codec, data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if pod := obj.(*example.Pod); pod.ResourceVersion != "" || pod.GetSelfLink() != "" {
		t.Errorf("%s is stored with resource version %q and self link %q", path, pod.ResourceVersion, pod.GetSelfLink())
	}
}

// recorder holds the lists that reach the backend where a cache should spare it
// them, and nothing where there is no cache.
func (h *harness) recorder() *suite.KubernetesRecorder {
	if h.cache == nil {
		return suite.NewKubernetesRecorder(nil)
	}
	return h.backend.lists
}

// transformable lets the suite change the transformer.
func (h *harness) transformable() *transformable {
	return &transformable{adapter: h.adapter, backend: h.backend}
}

// paging returns a storage that makes pages of a list at version "0": of the
// newest state, which is one of those that may be given. Ours ignores a limit
// there, as kube-apiserver with its cache does.
func (h *harness) paging() upstream.Interface { return &pagingAdapter{h.adapter} }

type pagingAdapter struct{ *adapter }

func (a *pagingAdapter) GetList(ctx context.Context, path string, opts upstream.ListOptions, out runtime.Object) error {
	if opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	return a.adapter.GetList(ctx, path, opts, out)
}

// reportProgress asks for progress time and again, as etcd reports it by itself.
func (h *harness) reportProgress(t *testing.T, scope string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := h.memory.RequestProgress(ctx, scope); err != nil && ctx.Err() == nil {
				t.Errorf("progress: %v", err)
				return
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}
