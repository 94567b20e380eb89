package protobuf

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

var benchModes = []struct {
	name string
	o    Options
}{
	{"unshared", Options{Unshared: true}},
	{"shared", Options{}},
	{"shared, no managedFields", Options{DropManagedFields: true}},
	{"shared, mask", Options{DropManagedFields: true, Fields: []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.labels", "spec.nodeName", "status.phase"}}},
}

// benchPods encodes sets of ten Pods each.
func benchPods(b testing.TB, sets int) (raws [][]byte) {
	for set := range sets {
		for n := range 10 {
			raws = append(raws, encode(b, pod(set, n)))
		}
	}
	return raws
}

func BenchmarkPod(b *testing.B) {
	raws := benchPods(b, 200)
	b.Run("stock", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := new(corev1.Pod).Unmarshal(raws[i%len(raws)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, m := range benchModes {
		b.Run(m.name, func(b *testing.B) {
			d := decoderFor(b, reflect.TypeFor[*corev1.Pod](), m.o)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := d.Decode(raws[i%len(raws)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(d.Stats().Bytes), "table-B")
		})
	}
}

// BenchmarkRetainedPods reports what stays of each of 20,000 distinct Pods.
func BenchmarkRetainedPods(b *testing.B) {
	raws := benchPods(b, 2000)
	retained := func(b *testing.B, decode func([]byte) (any, error)) {
		for b.Loop() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			kept := make([]any, len(raws))
			for i, raw := range raws {
				o, err := decode(raw)
				if err != nil {
					b.Fatal(err)
				}
				kept[i] = o
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(len(raws)), "retained-B/object")
			runtime.KeepAlive(kept)
			runtime.KeepAlive(decode)
		}
	}
	b.Run("stock", func(b *testing.B) {
		retained(b, func(raw []byte) (any, error) { p := new(corev1.Pod); return p, p.Unmarshal(raw) })
	})
	for _, m := range benchModes {
		b.Run(m.name, func(b *testing.B) {
			retained(b, decoderFor(b, reflect.TypeFor[*corev1.Pod](), m.o).Decode)
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, typ := range []reflect.Type{reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*corev1.ConfigMap]()} {
		b.Run(fmt.Sprint(typ), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := compile(typ, nil, false, builtIn)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(p.ids), "trials")
			}
		})
	}
}
