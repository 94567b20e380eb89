package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/reflector"
)

// unhurried is a world whose lists take a second.
type unhurried struct{ *world }

func (u unhurried) List(ctx context.Context, opts metav1.ListOptions, each func(configMapItem) error) (reflector.Page, error) {
	time.Sleep(time.Second)
	return u.world.List(ctx, opts, each)
}

func TestAllThatAreWaitedForComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, err := reflector.NewGroup(1)
		if err != nil {
			t.Fatal(err)
		}
		var all []*configMaps
		for range 6 {
			i, err := New[*corev1.ConfigMap](unhurried{newWorld()}, Options[*corev1.ConfigMap]{
				Reflector: reflector.Options[*corev1.ConfigMap]{Streaming: reflector.StreamingNever, Group: group},
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, i)
			run(t, i)
			synctest.Wait()
		}
		began := time.Now()
		if err := WaitFor(t.Context(), all[4], all[5]); err != nil {
			t.Error(err)
		}
		// The first had its turn before anybody waited.
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the wait took %v", took)
		}
	})
}

func TestWaitingForNothingIsRefused(t *testing.T) {
	for name, w := range map[string]Waiter{"nil": nil, "a nil informer": (*configMaps)(nil)} {
		if err := WaitFor(t.Context(), w); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
