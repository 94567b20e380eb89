package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/indexer"
)

// store is a store of either maker with the three indexes.
type store interface {
	// write adds or updates pods, and replace makes them all there is.
	write(pods []*corev1.Pod) error
	replace(pods []*corev1.Pod) error
	delete(pods []*corev1.Pod) error
	// get looks an object up as a lister does.
	get(namespace, name string) bool
	// byNode and list return how many objects they have found.
	byNode(node string) (int, error)
	list() int
}

// theirStore is client-go's. Its writes are single ones: it has no others.
type theirStore struct {
	indexer cache.Indexer
	lister  corelisters.PodLister
}

func newTheirStore() *theirStore {
	i := cache.NewIndexer(cache.MetaNamespaceKeyFunc, theirIndexers())
	return &theirStore{i, corelisters.NewPodLister(i)}
}

func (s *theirStore) write(pods []*corev1.Pod) error {
	var errs []error
	for _, p := range pods {
		errs = append(errs, s.indexer.Update(p))
	}
	return errors.Join(errs...)
}

func (s *theirStore) replace(pods []*corev1.Pod) error {
	all := make([]any, len(pods))
	for n, p := range pods {
		all[n] = p
	}
	return s.indexer.Replace(all, pods[0].ResourceVersion)
}

func (s *theirStore) delete(pods []*corev1.Pod) error {
	var errs []error
	for _, p := range pods {
		errs = append(errs, s.indexer.Delete(p))
	}
	return errors.Join(errs...)
}

func (s *theirStore) get(namespace, name string) bool {
	p, err := s.lister.Pods(namespace).Get(name)
	return err == nil && p != nil
}

func (s *theirStore) byNode(node string) (int, error) {
	found, err := s.indexer.ByIndex(indexNode, node)
	return len(found), err
}

func (s *theirStore) list() int { return len(s.indexer.List()) }

// ourStore is Heliograph's. A call of write is a transaction, and so is replace,
// as it is in an informer that has listed.
type ourStore struct{ *indexer.Indexer[*corev1.Pod] }

func newOurStore() (*ourStore, error) {
	i, err := indexer.New(ourIndexes())
	return &ourStore{i}, err
}

func (s *ourStore) write(pods []*corev1.Pod) (err error) {
	s.Update(func(tx indexer.Tx[*corev1.Pod]) {
		keys := make([]types.NamespacedName, 0, expectedKeys)
		for n, p := range pods {
			if n%expectedKeys == 0 && len(pods) > 1 {
				keys = keys[:0]
				for _, next := range pods[n:min(n+expectedKeys, len(pods))] {
					keys = append(keys, keyOf(next))
				}
				tx.Expect(keys)
			}
			err = errors.Join(err, tx.Put(indexer.Entry[*corev1.Pod]{Key: keyOf(p), UID: p.UID, Version: p.ResourceVersion, Object: p}))
		}
	})
	return err
}

func (s *ourStore) replace(pods []*corev1.Pod) error { return s.write(pods) }

func (s *ourStore) delete(pods []*corev1.Pod) (err error) {
	s.Update(func(tx indexer.Tx[*corev1.Pod]) {
		for _, p := range pods {
			if _, ok := tx.Delete(keyOf(p)); !ok {
				err = fmt.Errorf("%v is not there", keyOf(p))
			}
		}
	})
	return err
}

func (s *ourStore) get(namespace, name string) bool {
	p, ok := s.Get(types.NamespacedName{Namespace: namespace, Name: name})
	return ok && p != nil
}

func (s *ourStore) byNode(node string) (int, error) {
	found, err := s.ByIndex(indexNode, node)
	return len(found), err
}

func (s *ourStore) list() int { return len(s.List()) }

func newStore(side string) (store, error) {
	if side == clientGo {
		return newTheirStore(), nil
	}
	return newOurStore()
}

// expectedKeys is how many keys an informer that applies a batch tells its store
// before it writes them. Ours is told as many.
const expectedKeys = 64

// storeBatch is how many objects are written at a time.
const storeBatch = 100

func storeContests(o options) []contest {
	ops := []metric{
		{key: "retained", label: "bytes per object, three indexes included", unit: "B"},
		{key: "add", label: "add", unit: "ns"},
		{key: "update", label: "update, same index values", unit: "ns"},
		{key: "move", label: "update, one index value changed", unit: "ns"},
		{key: "hot", label: "Get as a lister does it, hot", unit: "ns"},
		{key: "hot allocs", label: "Get as a lister does it, allocations", unit: "count"},
		{key: "cold", label: "Get as a lister does it, cold", unit: "ns"},
		{key: "index", label: "ByIndex of 100", unit: "ns"},
		{key: "list", label: "List", unit: "µs"},
		{key: "replace", label: "replace all, per object", unit: "ns"},
		{key: "delete", label: "delete", unit: "ns"},
	}
	j := job{Kind: "store", Pods: leanCount(o)}
	get, writes := j, j
	get.Kind, writes.Kind = "longest get", "writer"
	return []contest{
		{name: "store of 100k", metrics: ops, theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}},
		{name: "store, Get while 100k are replaced without pause", metrics: longestGetMetrics, runs: 5,
			theirs: by(clientGo, get), ours: []entrant{{job: by(heliograph, get)}}},
		{name: "store, a writer beside 100 who list 100k without pause", metrics: writerMetrics, runs: 2,
			theirs: by(clientGo, writes), ours: []entrant{{job: by(heliograph, writes)}}},
	}
}

// leanGeneration builds all lean pods at a version that others have not.
func leanGeneration(n, generation int) []*corev1.Pod {
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = makeLean(i)
		out[i].ResourceVersion = initialVersion(generation*n + i)
	}
	return out
}

// measureStore is the job of a child process: it goes through what a store does,
// one after the other.
func measureStore(_ context.Context, j job) (sample, error) {
	first, second, moved := leanGeneration(j.Pods, 0), leanGeneration(j.Pods, 1), leanGeneration(j.Pods, 2)
	for i, p := range moved {
		p.Spec.NodeName = leanNode((i + leanPerNode) % j.Pods)
	}
	r := &opRun{pods: j.Pods, out: sample{}}
	live := liveHeap()
	s, err := newStore(j.Side)
	if err != nil {
		return nil, err
	}
	r.batches("add", first, s.write)
	r.out["retained"] = (float64(liveHeap()) - float64(live)) / float64(j.Pods)
	r.batches("update", second, s.write)
	r.batches("move", moved, s.write)
	r.reads(s)
	r.measure("replace", j.Pods*4, func() error {
		return errors.Join(s.replace(first), s.replace(second), s.replace(first), s.replace(second))
	})
	r.batches("delete", second, s.delete)
	if got := s.list(); r.err == nil && got != 0 {
		r.err = fmt.Errorf("%d objects are left", got)
	}
	return r.out, r.err
}

// opRun measures one operation after the other; the first error ends it.
type opRun struct {
	pods int
	out  sample
	err  error
}

// measure notes the CPU time for each of n operations, in nanoseconds, and their
// allocations.
func (r *opRun) measure(key string, n int, do func() error) {
	if r.err != nil {
		return
	}
	before, err := readUsage()
	if err == nil {
		err = do()
	}
	after, usageErr := readUsage()
	if r.err = errors.Join(err, usageErr); r.err != nil {
		r.err = fmt.Errorf("%s: %w", key, r.err)
	}
	used := after.since(before)
	r.out[key] = float64(used.cpu.Nanoseconds()) / float64(n)
	r.out[key+" allocs"] = float64(used.mallocs) / float64(n)
}

func (r *opRun) batches(key string, pods []*corev1.Pod, write func([]*corev1.Pod) error) {
	r.measure(key, len(pods), func() error {
		for at := 0; at < len(pods); at += storeBatch {
			if err := write(pods[at:min(at+storeBatch, len(pods))]); err != nil {
				return err
			}
		}
		return nil
	})
}

// hotObjects is how many objects fit in the caches of a processor.
const hotObjects = 500

func (r *opRun) reads(s store) {
	names := leanNames(r.pods)
	ops := max(10*r.pods, 1000)
	r.gets("hot", ops, s, names[:min(hotObjects, len(names))])
	r.gets("cold", ops, s, names)
	r.measure("index", ops/10, func() error {
		for n := range ops / 10 {
			if got, err := s.byNode(leanNode(n * 31 % r.pods)); err != nil || got != leanPerNode {
				return fmt.Errorf("%d objects: %w", got, err)
			}
		}
		return nil
	})
	const lists = 50
	r.measure("list", lists*1000, func() error {
		for range lists {
			if got := s.list(); got != r.pods {
				return fmt.Errorf("%d objects", got)
			}
		}
		return nil
	})
}

func (r *opRun) gets(key string, ops int, s store, names []types.NamespacedName) {
	r.measure(key, ops, func() error {
		at := 0
		for range ops {
			if !s.get(names[at].Namespace, names[at].Name) {
				return fmt.Errorf("%v is not there", names[at])
			}
			if at++; at == len(names) {
				at = 0
			}
		}
		return nil
	})
}

// leanNames are the names of lean pods in random order, in memory of their own.
func leanNames(n int) []types.NamespacedName {
	out := make([]types.NamespacedName, n)
	for at, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		p := makeLean(i)
		out[at] = types.NamespacedName{Namespace: strings.Clone(p.Namespace), Name: strings.Clone(p.Name)}
	}
	return out
}
