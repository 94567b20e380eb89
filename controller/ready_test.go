package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestAControllerSaysWhetherItIsReady(t *testing.T) {
	bubble(t, "and if not, which informer is missing", func(t *testing.T) {
		c := newController(t, succeed, Options{Leadership: throne{}})
		inf := newInformer(t, newServer())
		if err := Watch(c, inf, Self); err != nil {
			t.Fatal(err)
		}
		want := func(part string) {
			t.Helper()
			if err := c.Ready(); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), part) {
				t.Errorf("want a %q, got %v", part, err)
			}
		}
		want("stopped")
		stop := run(t, c)
		want("pods")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		if err := c.Ready(); err != nil || c.Status().Phase != Standby {
			t.Errorf("on standby: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		want("stopped")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAControllerIsNotHealthyIfAReconcileDoesNotEnd(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		release := make(chan struct{})
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			if key.Name == "stuck" {
				<-release
			}
			return Result{}, nil
		}, Options{})
		add(t, c, "stuck", "quick")
		stop := run(t, c)
		time.Sleep(time.Hour)
		if err := c.Healthy(time.Hour); err != nil {
			t.Error(err)
		}
		if err := c.Healthy(time.Minute); !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "default/stuck") {
			t.Error(err)
		}
		if err := c.Healthy(0); !errors.Is(err, errInvalid) {
			t.Error(err)
		}
		close(release)
		synctest.Wait()
		if err := c.Healthy(time.Nanosecond); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
