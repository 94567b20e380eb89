package informer

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/reflector"
)

// The race detector is the judge here: an error that can be seen must not be
// changed any more.
func TestABrokenObjectCanBeLookedAtWhileItIsReported(t *testing.T) {
	w := newWorld()
	w.set("a", "1")
	looked, ctx := make(chan struct{}), t.Context()
	i, err := New[*corev1.ConfigMap](w, Options[*corev1.ConfigMap]{
		Transform:     func(*corev1.ConfigMap) (*corev1.ConfigMap, error) { return nil, errors.New("no") },
		OnObjectError: func(*ObjectError) { <-looked },
	})
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- i.Run(running) }()
	var seen reflector.BrokenObject
	for broken := false; !broken && ctx.Err() == nil; {
		seen, broken = i.IsBroken(key("a"))
	}
	if seen.Err.Resource != i.Name() {
		t.Errorf("the resource is %q", seen.Err.Resource)
	}
	close(looked)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
