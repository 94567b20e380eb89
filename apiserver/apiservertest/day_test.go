package apiservertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// equal compares a store with a list of the server, by name and version.
func equal(t *testing.T, store indexer.Reader[*corev1.ConfigMap], list []corev1.ConfigMap) {
	t.Helper()
	if store.Len() != len(list) {
		t.Errorf("the store has %d objects, the server %d", store.Len(), len(list))
	}
	for i := range list {
		key := types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name}
		if e, ok := store.Entry(key); !ok || e.Version != list[i].ResourceVersion || e.UID != list[i].UID {
			t.Errorf("%s: the store has version %q, the server %q", key, e.Version, list[i].ResourceVersion)
		}
	}
}

// TestADayOfInformers runs an informer of ours and one of client-go for 24
// hours, while the server is written to, ends watches, forgets history and
// refuses requests.
func TestADayOfInformers(t *testing.T) {
	const steps = 1000
	h, err := apiservertest.Random(20, apiservertest.Plan{Manifests: states(30), Steps: steps, Every: 24 * time.Hour / steps})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		ours := configMaps(t, server, informer.Scope{})
		run(t, ours)
		config := server.Config()
		config.UserAgent = "stock"
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		stock := factory.Core().V1().ConfigMaps().Informer()
		factory.StartWithContext(t.Context())
		t.Cleanup(factory.Shutdown)
		factory.WaitForCacheSyncWithContext(t.Context())

		begin := time.Now()
		h.Replay(t, server)
		time.Sleep(max(0, 24*time.Hour-time.Since(begin)))
		// The last writes of the history may have come this moment.
		server.CatchUp(ours.Store().Version, stock.LastSyncResourceVersion)

		list, err := server.Client().CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, ours.Store(), list.Items)
		if n := len(stock.GetStore().List()); n != len(list.Items) {
			t.Errorf("client-go's store has %d objects, the server %d", n, len(list.Items))
		}
		for i := range list.Items {
			obj, _, err := stock.GetStore().Get(&list.Items[i])
			if cm, ok := obj.(*corev1.ConfigMap); err != nil || !ok || cm.ResourceVersion != list.Items[i].ResourceVersion {
				t.Errorf("client-go's store has %v (%v), the server %v", obj, err, &list.Items[i])
			}
		}
		log := server.Log()
		stocks := len(log.Agent("stock"))
		t.Logf("%d requests of ours, %d of client-go's, %d objects, %d lists", len(log)-stocks, stocks, len(list.Items), len(log.Verb("list")))
		// A watch lives five to ten minutes: that makes about 200. Every fault
		// costs a few more.
		if n := len(log) - stocks; n < 144 || n > 900 {
			t.Errorf("%d requests of our informer in a day", n)
		}
		if stocks < 144 || stocks > 1200 {
			t.Errorf("%d requests of client-go's informer in a day", stocks)
		}
	})
}
