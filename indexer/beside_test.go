package indexer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// besideObjects is more than what the caches of a processor hold.
const besideObjects = 50_000

// beside has the same pods in a store of ours and in one of client-go, each with
// the same three indexes: 100 pods on a node, three of an owner.
type beside struct {
	pods   []*corev1.Pod
	ours   *Indexer[*corev1.Pod]
	theirs cache.Indexer
	// asked has the keys of all pods in random order. Their text lies apart from
	// the stored one, in the order of asking: whoever asks has just read it.
	asked []types.NamespacedName
	nodes []string
}

// besideClientGo is an indexer of client-go.
func besideClientGo() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"node":               func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil },
		"owner":              func(o any) ([]string, error) { return []string{string(o.(*corev1.Pod).OwnerReferences[0].UID)}, nil },
	})
}

// besideOurs is a store of ours.
func besideOurs(tb testing.TB) *Indexer[*corev1.Pod] {
	one := func(value func(*corev1.Pod) string) Index[*corev1.Pod] {
		return Index[*corev1.Pod]{Values: func(o *corev1.Pod, values []string) ([]string, error) {
			return append(values, value(o)), nil
		}}
	}
	s, err := New(Indexes[*corev1.Pod]{
		NamespaceIndex: ByNamespace[*corev1.Pod](),
		"node":         one(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"owner":        one(func(p *corev1.Pod) string { return string(p.OwnerReferences[0].UID) }),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func newBeside(b *testing.B) *beside {
	s := &beside{ours: besideOurs(b), theirs: besideClientGo()}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range besideObjects / 100 {
		s.nodes = append(s.nodes, fmt.Sprintf("worker-%04d.cluster.example", i))
	}
	for i := range besideObjects {
		s.pods = append(s.pods, besidePod(i, "1"))
	}
	order := random.Perm(besideObjects)
	s.ours.Update(func(tx Tx[*corev1.Pod]) {
		for _, i := range order {
			if err := tx.Put(podEntry(s.pods[i])); err != nil {
				b.Error(err)
			}
		}
	})
	for _, i := range order {
		if err := s.theirs.Add(s.pods[i]); err != nil {
			b.Fatal(err)
		}
	}
	for _, i := range random.Perm(besideObjects) {
		s.asked = append(s.asked, types.NamespacedName{Namespace: strings.Clone(s.pods[i].Namespace), Name: strings.Clone(s.pods[i].Name)})
	}
	random.Shuffle(len(s.nodes), func(i, j int) { s.nodes[i], s.nodes[j] = s.nodes[j], s.nodes[i] })
	return s
}

var besideNamespaces = func() (names [50]string) {
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	return names
}()

func besidePod(i int, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: besideNamespaces[i%len(besideNamespaces)], Name: fmt.Sprintf("frontend-7d9c5b8f6b-%05x", i),
			UID: types.UID(fmt.Sprintf("6f1f0a52-91a6-4c5c-8a8f-%012x", i)), ResourceVersion: version,
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprintf("0b8f0a52-91a6-4c5c-8a8f-%012x", i/3))}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("worker-%04d.cluster.example", i*7919%(besideObjects/100))},
	}
}

func podEntry(p *corev1.Pod) Entry[*corev1.Pod] {
	return Entry[*corev1.Pod]{Key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, Version: p.ResourceVersion, Object: p}
}

// compare runs both sides in turn, n operations at a time, and reports the
// fastest tenths: what else the machine does only adds to them. Each side is given other
// operations, so that none finds what the other one has just brought near. What they
// are given returns what is measured.
func compare(b *testing.B, n int, ours, theirs func(from, n int) (run func())) {
	var took [2][]float64
	for i := range max(15, b.N/n) {
		for side, f := range [2]func(from, n int) func(){ours, theirs} {
			run := f(i*n+side*besideObjects/2, n)
			start := time.Now()
			run()
			took[side] = append(took[side], float64(time.Since(start).Nanoseconds())/float64(n))
		}
	}
	tenth := func(v []float64) float64 { slices.Sort(v); return v[len(v)/10] }
	a, c := tenth(took[0]), tenth(took[1])
	b.ReportMetric(a, "ns/op")
	b.ReportMetric(c, "client-go-ns/op")
	b.ReportMetric(c/a, "times-faster")
}

// plain is for what needs no preparation.
func plain(f func(from, n int)) func(from, n int) func() {
	return func(from, n int) func() { return func() { f(from, n) } }
}

var sink int

func BenchmarkBesideClientGo(b *testing.B) {
	s := newBeside(b)
	lister := corelisters.NewPodLister(s.theirs)
	get := func(keys []types.NamespacedName, touch bool) (ours, theirs func(from, n int)) {
		return func(from, n int) {
				for i := from; i < from+n; i++ {
					p, ok := s.ours.Get(keys[i%len(keys)])
					if !ok {
						b.Fatal("not found")
					}
					if touch {
						sink += len(p.ResourceVersion)
					}
				}
			}, func(from, n int) {
				for i := from; i < from+n; i++ {
					key := keys[i%len(keys)]
					p, err := lister.Pods(key.Namespace).Get(key.Name)
					if err != nil {
						b.Fatal(err)
					}
					if touch {
						sink += len(p.ResourceVersion)
					}
				}
			}
	}
	for _, of := range []struct {
		name  string
		keys  []types.NamespacedName
		touch bool
	}{
		{"Get of 100 objects", s.asked[:100], false},
		{"Get of all objects", s.asked, false},
		{"Get of all objects, which are read", s.asked, true},
	} {
		b.Run(of.name, func(b *testing.B) {
			ours, theirs := get(of.keys, of.touch)
			compare(b, 1000, plain(ours), plain(theirs))
		})
	}
	for _, of := range []struct {
		name  string
		nodes []string
	}{
		{"1 node", s.nodes[:1]},
		{"all nodes", s.nodes},
	} {
		theirs := func(from, n int) {
			for i := from; i < from+n; i++ {
				objs, err := s.theirs.ByIndex("node", of.nodes[i%len(of.nodes)])
				if err != nil || len(objs) != 100 {
					b.Fatal(len(objs), err)
				}
			}
		}
		b.Run("ByIndex of "+of.name, func(b *testing.B) {
			compare(b, 50, plain(func(from, n int) {
				for i := from; i < from+n; i++ {
					objs, err := s.ours.ByIndex("node", of.nodes[i%len(of.nodes)])
					if err != nil || len(objs) != 100 {
						b.Fatal(len(objs), err)
					}
				}
			}), plain(theirs))
		})
		b.Run("loop over AllByIndex of "+of.name, func(b *testing.B) {
			compare(b, 50, plain(func(from, n int) {
				for i := from; i < from+n; i++ {
					seq, err := s.ours.AllByIndex("node", of.nodes[i%len(of.nodes)])
					if err != nil {
						b.Fatal(err)
					}
					k := 0
					for range seq {
						k++
					}
					if k != 100 {
						b.Fatal(k)
					}
				}
			}), plain(theirs))
		})
	}
	for _, of := range []struct {
		size     int
		expected bool
	}{{1, false}, {64, false}, {64, true}} {
		b.Run(fmt.Sprintf("Update in transactions of %d, expected %v", of.size, of.expected), func(b *testing.B) {
			ours, theirs := s.updates(b, of.size, of.expected)
			compare(b, updatesAtOnce, ours, theirs)
		})
	}
}

const updatesAtOnce = 256

// updates replaces pods by others whose index values are the same. The new ones were
// made just before, as by a decoder, and come in no order.
func (s *beside) updates(b *testing.B, size int, expected bool) (ours, theirs func(from, n int) (run func())) {
	pods := make([]*corev1.Pod, updatesAtOnce)
	var keys []types.NamespacedName
	decode := func(from, n int) {
		for i := range n {
			pods[i] = besidePod(rand.IntN(besideObjects), fmt.Sprint(from))
		}
	}
	ours = func(from, n int) func() {
		decode(from, n)
		return func() {
			for at := 0; at < n; at += size {
				s.ours.Update(func(tx Tx[*corev1.Pod]) {
					if expected {
						keys = keys[:0]
						for _, p := range pods[at : at+size] {
							keys = append(keys, podEntry(p).Key)
						}
						tx.Expect(keys)
					}
					for _, p := range pods[at : at+size] {
						if err := tx.Put(podEntry(p)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
	theirs = func(from, n int) func() {
		decode(from, n)
		return func() {
			for _, p := range pods[:n] {
				if err := s.theirs.Update(p); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	return ours, theirs
}
