package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"heliograph.example/deltafifo"
	"heliograph.example/informer"
)

// filter says what to follow.
type filter struct {
	resource       string
	namespace      string // empty means all
	labels, fields string
}

// tail prints every change of a resource until ctx ends. It calls synced, and
// writes nothing meanwhile, when it knows how many objects there are: what happens from
// then on, it tells.
func tail(ctx context.Context, config *rest.Config, f filter, out io.Writer, synced func(n int, of schema.GroupResource)) error {
	mapping, err := find(config, f.resource)
	if err != nil {
		return err
	}
	scope := informer.Scope{Kind: mapping.GroupVersionKind, LabelSelector: f.labels, FieldSelector: f.fields}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		scope.Namespace = f.namespace
	}
	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		return err
	}
	objects, err := informer.For(ctx, factory, informer.Options[*unstructured.Unstructured]{Scope: scope})
	if err != nil {
		return err
	}
	// The handler is there before the informer starts: so what is told as initial is what
	// was there, and everything after that is a change.
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var writing sync.Mutex // to out
	handler, err := objects.Handle(informer.HandlerFunc[*unstructured.Unstructured](func(_ context.Context, change informer.Change[*unstructured.Unstructured]) {
		if change.Initial {
			return
		}
		writing.Lock()
		defer writing.Unlock()
		if _, err := io.WriteString(out, describe(change, time.Now())); err != nil {
			fail(fmt.Errorf("write: %w", err))
		}
	}), informer.HandlerOptions[*unstructured.Unstructured]{Name: "tail"})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	factory.Start(running)
	defer factory.Stop()
	if err := handler.Wait(ctx); err != nil {
		return err
	}
	writing.Lock()
	synced(objects.Store().Len(), mapping.Resource.GroupResource())
	writing.Unlock()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// describe tells of a change: a line, and one more for each field that differs.
func describe(c informer.Change[*unstructured.Unstructured], now time.Time) string {
	text := fmt.Sprintf("%s %-8s %s", now.Format(time.TimeOnly), c.Type, name(c))
	switch c.Type {
	case deltafifo.Added:
		return text + "\n"
	case deltafifo.Deleted:
		if c.FinalStateUnknown {
			text += " (nobody saw when)"
		}
		return text + "\n"
	}
	text += "\n"
	for _, d := range diff("", c.Old.Object, c.New.Object) {
		text += "    " + d.String() + "\n"
	}
	return text
}

func name(c informer.Change[*unstructured.Unstructured]) string {
	if c.Key.Namespace == "" {
		return c.Key.Name
	}
	return c.Key.Namespace + "/" + c.Key.Name
}
