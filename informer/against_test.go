package informer_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/informer"
)

// A map of labels that comes for the second time only is not in the tables of the
// decoder yet: what it is the same as is the state before.
func TestANewStateHasThePartsOfTheOldOneUnlessObjectsArePrivate(t *testing.T) {
	config := serve(t)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("ns-1")
	for what, test := range map[string]struct {
		shape informer.Shape
		same  bool
	}{"shared": {informer.Shape{}, true}, "private": {informer.Shape{Unshared: true}, false}} {
		t.Run(what, func(t *testing.T) {
			f := newFactory(t, config)
			i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Shape: test.shape})
			synced(t, f, i, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			wrote := false
			for change := range i.Changes(ctx) {
				if change.Key.Name != "b" {
					continue
				}
				if !wrote {
					wrote = true
					m := change.New.DeepCopy()
					m.Data = map[string]string{"written by": what}
					if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				same := reflect.ValueOf(change.Old.Labels).Pointer() == reflect.ValueOf(change.New.Labels).Pointer()
				if same != test.same || change.New.Labels["x"] != "y" || change.New.Data["written by"] != what {
					t.Errorf("one map of labels: %t, want %t: %v", same, test.same, change.New)
				}
				return
			}
			t.Error("no new state came")
		})
	}
}
