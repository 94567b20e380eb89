package storage_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/client/v3/kubernetes"
	upstream "k8s.io/apiserver/pkg/storage"
	suite "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"

	"heliograph.example/apiserver/storage"
)

// transformed is a Backend that keeps values as a transformer makes them, as
// kube-apiserver does to encrypt what is in etcd.
type transformed struct {
	storage.Backend
	transformer atomic.Pointer[value.Transformer]
	// lists tells the suite which lists reach the backend.
	lists *suite.KubernetesRecorder
}

// defaultPrefix is what the transformer adds to values unless a test changes it.
const defaultPrefix = "test!"

func newTransformed(backend storage.Backend) *transformed {
	b := &transformed{Backend: backend, lists: suite.NewKubernetesRecorder(noEtcd{})}
	b.use(suite.NewPrefixTransformer([]byte(defaultPrefix), false))
	return b
}

// noEtcd is what is behind the recorder: it answers nothing.
type noEtcd struct{ kubernetes.Interface }

func (noEtcd) List(context.Context, string, kubernetes.ListOptions) (kubernetes.ListResponse, error) {
	return kubernetes.ListResponse{}, nil
}

func (b *transformed) use(t value.Transformer) { b.transformer.Store(&t) }

func (b *transformed) read(ctx context.Context, kv KeyValue) (KeyValue, error) {
	if kv.Value == nil {
		return kv, nil
	}
	data, stale, err := (*b.transformer.Load()).TransformFromStorage(ctx, kv.Value, value.DefaultContext(kv.Key))
	if err != nil {
		return kv, upstream.NewInternalError(fmt.Errorf("unable to transform key %q: %w", kv.Key, err))
	}
	if stale {
		// The same to the codec, but not what it would write.
		data = append(data[:len(data):len(data)], ' ')
	}
	kv.Value = data
	return kv, nil
}

// KeyValue shortens the signatures.
type KeyValue = storage.KeyValue

func (b *transformed) Get(ctx context.Context, key string) (KeyValue, error) {
	kv, err := b.Backend.Get(ctx, key)
	if err != nil {
		return kv, err
	}
	return b.read(ctx, kv)
}

func (b *transformed) List(ctx context.Context, prefix string, opts storage.RangeOptions) (storage.Range, error) {
	if _, err := b.lists.List(ctx, prefix, kubernetes.ListOptions{
		Continue: opts.Start, Limit: int64(opts.Limit), Revision: int64(opts.Revision),
	}); err != nil {
		return storage.Range{}, err
	}
	r, err := b.Backend.List(ctx, prefix, opts)
	for i := 0; i < len(r.Items) && err == nil; i++ {
		r.Items[i], err = b.read(ctx, r.Items[i])
	}
	return r, err
}

func (b *transformed) Put(ctx context.Context, key string, data []byte, expected uint64) (KeyValue, bool, error) {
	secret, err := (*b.transformer.Load()).TransformToStorage(ctx, data, value.DefaultContext(key))
	if err != nil {
		return KeyValue{}, false, err
	}
	kv, ok, err := b.Backend.Put(ctx, key, secret, expected)
	if ok {
		kv.Value = data
	}
	return kv, ok, err
}

func (b *transformed) Watch(ctx context.Context, prefix string, after uint64) (storage.BackendWatch, error) {
	w, err := b.Backend.Watch(ctx, prefix, after)
	if err != nil {
		return nil, err
	}
	return &transformedWatch{BackendWatch: w, ctx: ctx, backend: b}, nil
}

type transformedWatch struct {
	storage.BackendWatch
	ctx     context.Context
	backend *transformed
}

func (w *transformedWatch) Next() (storage.Batch, error) {
	batch, err := w.BackendWatch.Next()
	for i := 0; i < len(batch.Changes) && err == nil; i++ {
		c := &batch.Changes[i]
		if c.KeyValue, err = w.backend.read(w.ctx, c.KeyValue); err != nil || c.Previous == nil {
			continue
		}
		var previous KeyValue
		previous, err = w.backend.read(w.ctx, *c.Previous)
		c.Previous = &previous
	}
	return batch, err
}

// transformable is an adapter whose transformer the suite may change.
type transformable struct {
	*adapter
	backend *transformed
}

var _ suite.InterfaceWithPrefixTransformer = (*transformable)(nil)

// UpdatePrefixTransformer has the suite make another transformer from a copy of
// the current one. The function returned puts the old one back.
func (a *transformable) UpdatePrefixTransformer(modify suite.PrefixTransformerModifier) func() {
	old := (*a.backend.transformer.Load()).(*suite.PrefixTransformer)
	changed := *old
	a.backend.use(modify(&changed))
	return func() { a.backend.use(old) }
}
