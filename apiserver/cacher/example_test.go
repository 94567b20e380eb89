package cacher_test

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

func Example() {
	store, err := storage.NewStore(storage.NewMemory(), storage.StoreOptions{
		GroupResource: schema.GroupResource{Resource: "pods"},
		Codec:         scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion),
		NewFunc:       func() runtime.Object { return new(corev1.Pod) },
	})
	if err != nil {
		panic(err)
	}
	pods, err := cacher.New(store, cacher.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = pods.Run(ctx) })
	defer running.Wait()
	defer cancel()

	for _, name := range []string{"a", "b"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if _, err := pods.Create(ctx, types.NamespacedName{Namespace: "default", Name: name}, pod); err != nil {
			panic(err)
		}
	}
	w, err := pods.Watch(ctx, storage.WatchOptions{Bookmarks: true})
	if err != nil {
		panic(err)
	}
	defer w.Stop()
	tell := func() {
		events, err := w.Next()
		if err != nil {
			panic(err)
		}
		for _, e := range events {
			pod := e.Object.(*corev1.Pod)
			fmt.Println(e.Type, pod.Name, pod.ResourceVersion, pod.Annotations)
		}
	}
	tell()
	if _, err := pods.Delete(ctx, types.NamespacedName{Namespace: "default", Name: "a"}, nil); err != nil {
		panic(err)
	}
	tell()
	// Output:
	// ADDED a 2 map[]
	// ADDED b 3 map[]
	// BOOKMARK  3 map[k8s.io/initial-events-end:true]
	// DELETED a 4 map[]
}
