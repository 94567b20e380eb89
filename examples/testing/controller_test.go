package example

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/examples/testing/settings"
)

var (
	namespaces = schema.GroupResource{Resource: "namespaces"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
)

// start starts a server and the controller, and waits until both are idle.
func start(t *testing.T) *apiservertest.Server {
	t.Helper()
	server := apiservertest.Start(t, apiserver.Options{})
	c, err := settings.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(t.Context()); err != nil {
			t.Errorf("the controller ended: %v", err)
		}
	})
	t.Cleanup(running.Wait)
	synctest.Wait()
	return server
}

// namespace is the manifest of one.
func namespace(name, team string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %q, labels: {%s: %q}}}\n---\n", name, settings.TeamLabel, team)
}

// hasTeam checks what the ConfigMap of a namespace says.
func hasTeam(t *testing.T, server *apiservertest.Server, namespace, team string) error {
	cm, err := server.Client().CoreV1().ConfigMaps(namespace).Get(t.Context(), settings.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if cm.Data[settings.TeamKey] != team {
		return fmt.Errorf("namespace %s: the settings say team %q, want %q", namespace, cm.Data[settings.TeamKey], team)
	}
	return nil
}

// setTeam changes the label of a namespace.
func setTeam(t *testing.T, server *apiservertest.Server, namespace, team string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, settings.TeamLabel, team)
	_, err := server.Client().CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// The happy path: synctest.Wait returns when the controller has nothing more to
// do, so there is nothing to poll and no time to guess.
func TestANamespaceGetsItsSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Load(namespace("shop", "red"))
		synctest.Wait()
		if err := hasTeam(t, server, "shop", "red"); err != nil {
			t.Error(err)
		}
		setTeam(t, server, "shop", "blue")
		synctest.Wait()
		if err := hasTeam(t, server, "shop", "blue"); err != nil {
			t.Error(err)
		}
		// It wrote twice, and did not read the server but by watching.
		if n := len(server.Log().Writes()); n != 2 {
			t.Errorf("%d writes, want 2:\n%s", n, server.Log().Writes())
		}
	})
}

func TestSettingsThatAreDeletedComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Load(namespace("shop", "red"))
		synctest.Wait()
		err := server.Client().CoreV1().ConfigMaps("shop").Delete(t.Context(), settings.Name, metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := hasTeam(t, server, "shop", "red"); err != nil {
			t.Error(err)
		}
	})
}

// A conflict, a real one: the controller's update takes a second to arrive, and
// somebody else is faster.
func TestAConflictIsRetriedOnTheNewState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Load(namespace("shop", "red"))
		synctest.Wait()
		server.Break(fault.Fault{Verb: "update", Resource: configMaps, Times: 1, Delay: time.Second})
		setTeam(t, server, "shop", "blue")
		synctest.Wait() // The update is under way.
		note := []byte(`{"metadata":{"annotations":{"note":"mine"}}}`)
		client := server.Client().CoreV1().ConfigMaps("shop")
		if _, err := client.Patch(t.Context(), settings.Name, types.MergePatchType, note, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		apiservertest.Eventually(t, time.Minute, func() error { return hasTeam(t, server, "shop", "blue") })
		if n := len(server.Log().Verb("update").Code(http.StatusConflict)); n != 1 {
			t.Errorf("%d conflicts, want 1:\n%s", n, server.Log().Writes())
		}
		cm, err := client.Get(t.Context(), settings.Name, metav1.GetOptions{})
		if err != nil || cm.Annotations["note"] != "mine" {
			t.Errorf("the other's note is lost: %v, %v", cm.Annotations, err)
		}
	})
}

// Virtual time shows the back-off: ten refused writes take minutes of it.
func TestAWriteThatIsRefusedIsRetriedWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Break(fault.Fault{Verb: "create", Resource: configMaps, Times: 10, Code: http.StatusInternalServerError})
		server.Load(namespace("shop", "red"))
		apiservertest.Eventually(t, time.Hour, func() error { return hasTeam(t, server, "shop", "red") })
		writes := server.Log().Verb("create")
		if len(writes) != 11 {
			t.Fatalf("%d creates, want 11:\n%s", len(writes), writes)
		}
		first := writes[1].Time.Sub(writes[0].Time)
		last := writes[10].Time.Sub(writes[9].Time)
		if last < 50*first {
			t.Errorf("the first pause was %v, the last one %v", first, last)
		}
	})
}

// The write was done, but its answer was lost: the retry must cope with its own
// work.
func TestAnAnswerThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Break(fault.Fault{Verb: "create", Resource: configMaps, Times: 1, Cut: fault.CutReset})
		server.Load(namespace("shop", "red"))
		apiservertest.Eventually(t, time.Minute, func() error { return hasTeam(t, server, "shop", "red") })
		time.Sleep(time.Hour)
		if n := len(server.Log().Writes()); n > 2 {
			t.Errorf("%d writes, want 2 at most:\n%s", n, server.Log().Writes())
		}
	})
}

// A watch that is dropped is taken up where it ended: nothing is lost, and
// nothing is read again.
func TestADroppedWatchLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Load(namespace("shop", "red"))
		synctest.Wait()
		mark := server.Mark()
		server.DropWatches(namespaces)
		server.Load(namespace("bank", "blue"))
		apiservertest.Eventually(t, time.Minute, func() error { return hasTeam(t, server, "bank", "blue") })
		if lists := server.Log().Since(mark).Lists(); len(lists) != 0 {
			t.Errorf("it read everything again:\n%s", lists)
		}
	})
}

// If the server has forgotten what happened meanwhile, it answers with 410, and
// everything is read again; but only what has changed is worked on.
func TestHistoryThatIsGoneIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		server.Load(namespace("shop", "red") + namespace("bank", "blue"))
		synctest.Wait()
		mark := server.Mark()
		server.Break(fault.Fault{Verb: "watch", Resource: namespaces, Times: 1, Code: http.StatusServiceUnavailable})
		server.DropWatches(namespaces)
		setTeam(t, server, "bank", "green")
		if err := server.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		apiservertest.Eventually(t, time.Minute, func() error { return hasTeam(t, server, "bank", "green") })
		log := server.Log().Since(mark)
		if n := len(log.Resource("namespaces").Lists()); n != 1 {
			t.Errorf("the namespaces were read %d times, want once:\n%s", n, log)
		}
		if n := len(log.Writes()); n != 1 {
			t.Errorf("%d writes, want 1:\n%s", n, log.Writes())
		}
	})
}

// An outage of an hour: the controller must not hammer at the server, and must
// be back soon after it.
func TestAServerThatIsAwayForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := start(t)
		mark := server.Mark()
		server.Break(fault.Fault{Code: http.StatusServiceUnavailable})
		server.DropWatches(namespaces)
		server.DropWatches(configMaps)
		time.Sleep(time.Hour)
		if n := len(server.Log().Since(mark)); n < 50 || n > 500 {
			t.Errorf("%d requests in an hour", n)
		}
		server.Faults.Clear()
		server.Load(namespace("shop", "red"))
		apiservertest.Eventually(t, 2*time.Minute, func() error { return hasTeam(t, server, "shop", "red") })
	})
}

// What nobody has thought of: random histories of writes and faults. A failure
// prints the history, to be replayed with ParseHistory and cut down.
func TestRandomHistories(t *testing.T) {
	var plan apiservertest.Plan
	plan.Every = 20 * time.Second
	for _, name := range []string{"shop", "bank", "farm"} {
		plan.Manifests += namespace(name, "red") + namespace(name, "blue")
		// Somebody meddles with the settings, too.
		plan.Manifests += fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s}, data: {team: pirates}}\n---\n", name)
	}
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			history, err := apiservertest.Random(seed, plan)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				server := start(t)
				history.Replay(t, server)
				time.Sleep(10 * time.Minute) // longer than any back-off
				list, err := server.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range list.Items {
					if err := hasTeam(t, server, list.Items[i].Name, list.Items[i].Labels[settings.TeamLabel]); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
