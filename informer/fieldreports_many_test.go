package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// reportFactory is a factory whose requests are known by their agent.
func reportFactory(t *testing.T, s *apiservertest.Server) *informer.Factory {
	t.Helper()
	config := s.Config()
	config.UserAgent = reportAgent
	f, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

// TestManyInformersAreBackSoonAfterAnOutage is report 17: after a short outage
// caches are stale for half a minute and more, or all come back at once.
func TestManyInformersAreBackSoonAfterAnOutage(t *testing.T) {
	const many = 20
	synctest.Test(t, func(t *testing.T) {
		s := apiservertest.Start(t, apiserver.Options{})
		f := reportFactory(t, s)
		var all []*informer.Informer[*corev1.ConfigMap]
		for n := range many {
			i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{Namespace: fmt.Sprint("ns", n)}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, i)
		}
		f.Start(t.Context())
		if err := f.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		mark := s.Mark()
		s.Break(fault.Fault{Client: reportAgent, Code: 503})
		s.DropWatches(configMapsResource)
		time.Sleep(40 * time.Second)
		n := len(s.Log().Since(mark))
		t.Logf("%d requests of %d informers in an outage of 40 seconds", n, many)
		if n < many || n > 5*many {
			t.Error("too many, or too few")
		}
		s.Faults.Clear()
		mark = s.Mark()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, i := range all {
			if st := i.Status().Reader; st.State != reflector.Watching {
				t.Errorf("five seconds after the outage: %v", st)
			}
		}
		if got := inShort(s.Log().Since(mark)); got != fmt.Sprint(many, " watch") {
			t.Errorf("the recovery cost %s", got)
		}
	})
}

// TestATypeThatCannotBeReadBlocksNobodyElse is report 22: one resource whose
// conversion fails keeps the whole program from starting.
func TestATypeThatCannotBeReadBlocksNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apiservertest.Start(t, apiserver.Options{})
		s.Break(fault.Fault{Client: reportAgent, Resource: schema.GroupResource{Resource: "secrets"}, Code: 500})
		if _, err := s.Client().CoreV1().ConfigMaps(namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f := reportFactory(t, s)
		secrets, err := informer.For(t.Context(), f, informer.Options[*corev1.Secret]{})
		if err != nil {
			t.Fatal(err)
		}
		maps, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
		if err != nil {
			t.Fatal(err)
		}
		told := &actor{at: map[string]string{}}
		if _, err := maps.Handle(told, informer.HandlerOptions[*corev1.ConfigMap]{}); err != nil {
			t.Fatal(err)
		}
		f.Start(t.Context())
		if err := informer.WaitFor(t.Context(), maps); err != nil {
			t.Fatal(err)
		}
		if got := told.log(); !slices.Equal(got, []string{"Added a="}) {
			t.Errorf("told %q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.Wait(ctx); err == nil || !strings.HasPrefix(err.Error(), "secrets: ") || strings.Contains(err.Error(), "configmaps") {
			t.Errorf("waiting for all: %v", err)
		}
		if n := len(s.Log().Resource("secrets")); n < 5 || n > 8 {
			t.Errorf("%d requests for what cannot be read in a minute: %s", n, inShort(s.Log().Resource("secrets")))
		}
		s.Faults.Clear()
		time.Sleep(45 * time.Second) // the longest pause
		if err := secrets.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if got := inShort(s.Log().Resource("configmaps")); got != "1 stream" {
			t.Errorf("the others asked for %s", got)
		}
	})
}
