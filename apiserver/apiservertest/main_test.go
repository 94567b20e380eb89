package apiservertest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a test that fails without failing the real one: it runs a
// function as a test would, with its cleanup functions.
type recorder struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex
	failed   bool
	log      strings.Builder
	cleanups []func()
}

// fatal is how a recorder ends the function that it runs.
type fatal struct{}

// record runs f as a test and returns whether it failed, and what it logged.
func record(t *testing.T, f func(t testing.TB)) (failed bool, log string) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{TB: t, ctx: ctx}
	func() {
		defer func() {
			if p := recover(); p != nil && p != (fatal{}) {
				panic(p)
			}
		}()
		f(r)
	}()
	cancel()
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r.failed, r.log.String()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool             { return r.failed }
func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.log, format+"\n", args...)
}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}
func (r *recorder) Fatal(args ...any) {
	r.Errorf("%s", fmt.Sprint(args...))
	panic(fatal{})
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(fatal{})
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"value": value}},
		Data:       map[string]string{"value": value},
	}
}

// run runs an informer until the test ends.
func run[T any](t *testing.T, i *informer.Informer[T]) {
	t.Helper()
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() {
		if err := i.Run(ctx); err != nil {
			t.Errorf("the informer: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	if err := i.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}
