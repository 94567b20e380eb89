package apiserver_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/fault"
)

func TestAStrictServerEndsASlowWatchWhichCanBeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := &fault.Script{}
		if err := faults.Add(fault.Fault{Verb: "watch", Times: 1, Pause: time.Second}); err != nil {
			t.Fatal(err)
		}
		s := apiservertest.Start(t, apiserver.Options{Faults: faults, WatchBacklog: 20})
		maps := s.Client().CoreV1().ConfigMaps("a")
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version, seen := list.ResourceVersion, 0
		open := func() watch.Interface {
			w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		see := func(e watch.Event) {
			cm, ok := e.Object.(*corev1.ConfigMap)
			if !ok || e.Type != watch.Added || cm.Name != fmt.Sprintf("m%03d", seen) {
				t.Fatalf("event %d: %+v", seen, e)
			}
			version = cm.ResourceVersion
			seen++
		}
		w := open()
		const writes = 100
		for i := range writes {
			if _, err := maps.Create(t.Context(), configMap(fmt.Sprintf("m%03d", i)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for e := range w.ResultChan() {
			see(e)
		}
		if seen == writes {
			t.Error("a slow watch was told everything")
		}
		w = open()
		defer w.Stop()
		for seen < writes {
			see(next(t, w))
		}
	})
}

func TestANegativeBacklogIsRefused(t *testing.T) {
	s, err := apiserver.Start(t.Context(), apiserver.Options{WatchBacklog: -1})
	if s != nil || !errors.Is(err, cacher.ErrInvalidOptions) {
		t.Errorf("%v, %v", s, err)
	}
}
