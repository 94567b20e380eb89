package informer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

func TestAFactoryRemembersHowAResourceCanBeRead(t *testing.T) {
	faults := &fault.Script{}
	if err := faults.Add(fault.Fault{Verb: "watch", Streaming: true, Code: 422}); err != nil {
		t.Fatal(err)
	}
	server, err := apiserver.Start(t.Context(), apiserver.Options{Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	f := newFactory(t, server.Config())
	// Each is synced before the next begins.
	for n, namespace := range []string{"ns-1", "ns-2", ""} {
		i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{Namespace: namespace}})
		synced(t, f, i, err)
		s := i.Status().Reader
		if tried := s.Streams > 0; tried != (n == 0) || s.Fallback == "" {
			t.Errorf("informer %d: %d streaming lists, fallback %q", n, s.Streams, s.Fallback)
		}
	}
	secrets, err := informer.For(t.Context(), f, informer.Options[*corev1.Secret]{})
	synced(t, f, secrets, err)
	if s := secrets.Status().Reader; s.Streams != 1 {
		t.Errorf("another resource: %d streaming lists", s.Streams)
	}
}
