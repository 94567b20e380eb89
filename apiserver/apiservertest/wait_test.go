package apiservertest_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

// configMaps makes an informer of a factory of its own.
func configMaps(t *testing.T, server *apiservertest.Server, scope informer.Scope) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := informer.For(t.Context(), factory, informer.Options[*corev1.ConfigMap]{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestAfterCatchUpAStoreHasEverything(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{})
	all := configMaps(t, server, informer.Scope{})
	run(t, all)
	some := configMaps(t, server, informer.Scope{Namespace: "a", LabelSelector: "value=1"})
	run(t, some)
	client := server.Client().CoreV1()
	for i := range 200 {
		if _, err := client.ConfigMaps("a").Create(t.Context(), configMap(fmt.Sprint("m", i), fmt.Sprint(i%2)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			server.DropWatches(configMapsResource)
		}
		// The newest version is that of another resource.
		if _, err := client.Secrets("a").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			server.CatchUp(all.Store().Version, some.Store().Version)
			if n, m := all.Store().Len(), some.Store().Len(); n != i+1 || m != (i+1)/2 {
				t.Fatalf("after %d writes the stores have %d and %d objects", i+1, n, m)
			}
		}
	}
}

func TestCatchUpNamesTheWatchThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other error
		failed, log := record(t, func(tb testing.TB) {
			server := apiservertest.Start(tb, apiserver.Options{})
			// A client that reads the head of the answer and nothing else.
			conn, err := server.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET /api/v1/configmaps?watch=1&resourceVersion=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: idler\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 12)); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Client().CoreV1().ConfigMaps("a").Create(t.Context(), configMap("m", "1"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			server.CatchUpWhere(func(r endpoints.Request) bool { return r.UserAgent != "idler" })
			other = errors.New("those of others were waited for, too")
			server.CatchUp()
		})
		if other == nil {
			t.Error("a watch that was not asked for was waited for")
		}
		if want := `watch /api/v1/configmaps?watch=1&resourceVersion=1 of "idler" has`; !failed || !strings.Contains(log, want) {
			t.Errorf("failed %v: %s\nwant: %s", failed, log, want)
		}
	})
}

func TestCatchUpWaitsForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		store := configMaps(t, server, informer.Scope{})
		run(t, store)
		server.Break(fault.Fault{Verb: "watch", Times: 3, Code: 503})
		server.DropWatches(configMapsResource)
		server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
		server.CatchUp(store.Store().Version)
		if n := store.Store().Len(); n != 1 {
			t.Errorf("the store has %d objects", n)
		}
		if n := len(server.Log().Code(503)); n != 3 {
			t.Errorf("%d refused watches, want 3:\n%s", n, server.Log())
		}
		server.Break(fault.Fault{Verb: "watch", Code: 503})
		server.DropWatches(configMapsResource)
		server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: o}}")
		failed, log := record(t, func(tb testing.TB) {
			again := *server
			again.SetT(tb)
			again.CatchUp(func() string { return "1x" })
		})
		if want := "store 0: "; !failed || !strings.Contains(log, want) {
			t.Errorf("a version that is none: failed %v: %s", failed, log)
		}
		failed, log = record(t, func(tb testing.TB) {
			again := *server
			again.SetT(tb)
			again.CatchUp(store.Store().Version)
		})
		if want := `store 0 is at version "`; !failed || !strings.Contains(log, want) {
			t.Errorf("a store that stays away: failed %v: %s", failed, log)
		}
	})
}

func TestCatchUpDoesNotTakeAStaleReplicaForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		store := configMaps(t, server, informer.Scope{})
		run(t, store)
		if err := server.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
		failed, log := record(t, func(tb testing.TB) {
			again := *server
			again.SetT(tb)
			again.CatchUp(store.Store().Version)
		})
		if !failed || !strings.Contains(log, "Too large resource version") {
			t.Errorf("frozen: failed %v: %s", failed, log)
		}
		if err := server.Thaw(); err != nil {
			t.Fatal(err)
		}
		server.CatchUp(store.Store().Version)
		if n := store.Store().Len(); n != 1 {
			t.Errorf("the store has %d objects", n)
		}
	})
}

func TestAStockInformerCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(server.Config()), 0)
		stock := factory.Core().V1().ConfigMaps().Informer()
		factory.StartWithContext(t.Context())
		t.Cleanup(factory.Shutdown)
		factory.WaitForCacheSyncWithContext(t.Context())
		server.Load("{apiVersion: v1, kind: Secret, metadata: {name: s}}")
		server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
		server.Load("{apiVersion: v1, kind: Secret, metadata: {name: t}}")
		server.CatchUp(stock.LastSyncResourceVersion)
		synctest.Wait()
		if n := len(stock.GetStore().List()); n != 1 {
			t.Errorf("the store has %d objects", n)
		}
	})
}

// A watch from before the time of the watch cache is served by the store.
func TestAWatchOfTheStoreCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		first := server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")[0]
		server.Load("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}")
		w, err := server.Client().CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{
			ResourceVersion: first.GetResourceVersion(), AllowWatchBookmarks: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		last := server.Load("{apiVersion: v1, kind: Secret, metadata: {name: s}}")[0]
		var told []string
		go func() {
			for len(told) < 2 {
				event := <-w.ResultChan()
				told = append(told, fmt.Sprint(event.Type, " ", event.Object.(metav1.Object).GetResourceVersion()))
			}
		}()
		begin := time.Now()
		server.CatchUp()
		synctest.Wait()
		if d := time.Since(begin); d > time.Second {
			t.Errorf("it took %v, as if it had waited for a bookmark that was due", d)
		}
		if want := []string{"ADDED 3", "BOOKMARK " + last.GetResourceVersion()}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

func TestEventuallyWaitsAndThenTellsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		apiservertest.Eventually(t, time.Hour, func() error {
			if d := time.Since(begin); d < 10*time.Minute {
				return fmt.Errorf("only %v", d)
			}
			return nil
		})
		if d := time.Since(begin); d > 10*time.Minute+time.Second {
			t.Errorf("it took %v", d)
		}
		begin = time.Now()
		failed, log := record(t, func(tb testing.TB) {
			apiservertest.Eventually(tb, time.Minute, func() error { return errors.New("no tea") })
		})
		if !failed || !strings.Contains(log, "not within 1m0s: no tea") {
			t.Errorf("failed %v: %s", failed, log)
		}
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("it gave up after %v", d)
		}
	})
}
