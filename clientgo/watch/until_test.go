package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func isNamed(name string) ConditionFunc {
	return func(e watch.Event) (bool, error) {
		if e.Type == watch.Error {
			return false, apierrors.FromObject(e.Object)
		}
		return e.Object.(*corev1.Pod).Name == name, nil
	}
}

func TestUntilSeesEveryEventOverTheEndOfAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(sends(event(watch.Added, "a", "2")), sends(event(watch.Added, "b", "3"), event(watch.Added, "c", "4")))
		got, err := Until(t.Context(), "1", client(s), isNamed("a"), isNamed("b"))
		if err != nil {
			t.Fatal(err)
		}
		if name := got.Object.(*corev1.Pod).Name; name != "b" {
			t.Errorf("it returned the event of %s", name)
		}
	})
}

func TestUntilSaysWhyItCannotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := Until(t.Context(), "1", client(newServer(refuses(apierrors.NewResourceExpired("too old")))), isNamed("a"))
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestUntilEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := ContextWithOptionalTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Until(ctx, "1", client(newServer(silent)), isNamed("a"))
		if !wait.Interrupted(err) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestUntilRefusesWhatItCannotUse(t *testing.T) {
	s := client(newServer(silent))
	var fake *watch.FakeWatcher
	var none context.Context
	for name, call := range map[string]func() (*watch.Event, error){
		"no version":      func() (*watch.Event, error) { return Until(t.Context(), "", s) },
		"no client":       func() (*watch.Event, error) { return Until(t.Context(), "1", nil) },
		"a nil condition": func() (*watch.Event, error) { return Until(t.Context(), "1", s, nil) },
		"a nil context":   func() (*watch.Event, error) { return Until(none, "1", s) },
		"no watcher":      func() (*watch.Event, error) { return UntilWithoutRetry(t.Context(), nil) },
		"a nil watcher":   func() (*watch.Event, error) { return UntilWithoutRetry(t.Context(), fake) },
		"nil among more": func() (*watch.Event, error) {
			return UntilWithoutRetry(t.Context(), watch.NewFake(), isNamed("a"), nil)
		},
	} {
		if e, err := call(); e != nil || err == nil || errors.Is(err, ErrWatchClosed) {
			t.Errorf("%s: it returned %v and %v", name, e, err)
		}
	}
}

// client is a server for those who take a client without contexts.
func client(s *server) cache.Watcher {
	return &cache.ListWatch{WatchFuncWithContext: s.WatchWithContext}
}

func TestUntilWithAnEndedContextReturns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Until(ctx, "1", client(newServer(silent)), isNamed("a")); err == nil {
		t.Error("there is no error")
	}
}
