package informer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

func TestBadInputGetsAClearError(t *testing.T) {
	good := func() (*configMaps, error) { return New(newWorld(), Options[*corev1.ConfigMap]{Name: "configmaps"}) }
	withHandler := func(h Handler[*corev1.ConfigMap], opts HandlerOptions[*corev1.ConfigMap]) error {
		i, err := good()
		if err != nil {
			return err
		}
		_, err = i.Handle(h, opts)
		return err
	}
	withOptions := func(opts Options[*corev1.ConfigMap]) error {
		_, err := New(newWorld(), opts)
		return err
	}
	var nilFunc HandlerFunc[*corev1.ConfigMap]
	var nilRecorder *recorder
	for name, c := range map[string]struct {
		err   error
		words string
	}{
		"a nil source": {func() error { _, err := New[*corev1.ConfigMap](nil, Options[*corev1.ConfigMap]{}); return err }(), "source is nil"},
		"a nil pointer as source": {func() error {
			_, err := New[*corev1.ConfigMap]((*world)(nil), Options[*corev1.ConfigMap]{})
			return err
		}(), "source is nil"},
		"a policy that is none":      {withOptions(Options[*corev1.ConfigMap]{Mutations: 99}), "99"},
		"a group that was not made":  {withOptions(Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{Group: &reflector.Group{}}}), "NewGroup"},
		"too few lists at a time":    {func() error { _, err := NewFactory(&rest.Config{}, FactoryOptions{MaxLists: -1}); return err }(), "-1"},
		"a nil handler":              {withHandler(nil, HandlerOptions[*corev1.ConfigMap]{}), "handler is nil"},
		"a nil function as handler":  {withHandler(nilFunc, HandlerOptions[*corev1.ConfigMap]{}), "handler is nil"},
		"a nil pointer as handler":   {withHandler(nilRecorder, HandlerOptions[*corev1.ConfigMap]{}), "handler is nil"},
		"a resync under a second":    {withHandler(newRecorder(), HandlerOptions[*corev1.ConfigMap]{Resync: time.Millisecond}), "at least 1s"},
		"a negative resync":          {withHandler(newRecorder(), HandlerOptions[*corev1.ConfigMap]{Resync: -time.Minute}), "at least 1s"},
		"a negative budget":          {withHandler(newRecorder(), HandlerOptions[*corev1.ConfigMap]{Budget: -1}), "Budget is -1"},
		"a nil index function":       {withOptions(Options[*corev1.ConfigMap]{Indexes: indexer.Indexes[*corev1.ConfigMap]{"x": {}}}), "x"},
		"a scope without a factory":  {withOptions(Options[*corev1.ConfigMap]{Scope: Scope{Namespace: "x"}}), "Scope"},
		"a name in the wrong place":  {withOptions(Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{Name: "x"}}), "Options.Reflector"},
		"a negative size of pages":   {withOptions(Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{PageSize: -1}}), "-1"},
		"a config that is not there": {func() error { _, err := NewFactory(nil, FactoryOptions{}); return err }(), "config is nil"},
		"a factory that is not there": {func() error {
			_, err := For(t.Context(), nil, Options[*corev1.ConfigMap]{})
			return err
		}(), "factory is nil"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.words) {
			t.Errorf("%s: error %v, want one that says %q", name, c.err, c.words)
		}
	}
	var none context.Context
	i, err := good()
	if err != nil {
		t.Fatal(err)
	}
	reg := handle(t, i, newRecorder(), HandlerOptions[*corev1.ConfigMap]{})
	for name, err := range map[string]error{"Run": i.Run(none), "Wait": i.Wait(none), "Registration.Wait": reg.Wait(none)} {
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "context is nil") {
			t.Errorf("%s without a context: %v", name, err)
		}
	}
	if err := withHandler(nil, HandlerOptions[*corev1.ConfigMap]{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v is not ErrInvalid", err)
	}
}
