package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waiting is a body that says nothing until it is closed.
type waiting struct{ closed chan struct{} }

func (w waiting) Read([]byte) (int, error) { <-w.closed; return 0, io.ErrClosedPipe }
func (w waiting) Close() error             { close(w.closed); return nil }

func TestAStreamOverRESTEndsWithItsContextAndWithStop(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s Stream[*corev1.Pod], cancel func())
		want error
	}{
		"its context": {func(_ Stream[*corev1.Pod], cancel func()) { cancel() }, context.Canceled},
		"Stop":        {func(s Stream[*corev1.Pod], _ func()) { s.Stop(); s.Stop() }, ErrStopped},
	} {
		for _, early := range []bool{false, true} {
			a := &answers{body: func() io.ReadCloser { return waiting{make(chan struct{})} }}
			ctx, cancel := context.WithCancel(t.Context())
			stream, err := answering[*corev1.Pod](t, a).Watch(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			result := make(chan error, 1)
			next := func() { _, err := stream.Next(); result <- err }
			if !early {
				go next()
			}
			test.end(stream, cancel)
			if early {
				next()
			}
			if err := <-result; !errors.Is(err, test.want) {
				t.Errorf("%s: %v", name, err)
			}
			stream.Stop()
			if n := a.closed.Load(); n != 1 {
				t.Errorf("%s: closed %d times", name, n)
			}
			cancel()
		}
	}
}

func TestAStreamOverRESTHasNoGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		for range 100 {
			a := &answers{body: func() io.ReadCloser { return waiting{make(chan struct{})} }}
			stream, err := answering[*corev1.Pod](t, a).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Stop()
		}
		if n := runtime.NumGoroutine() - before; n >= 100 {
			t.Errorf("%d goroutines for 100 streams", n)
		}
	})
}

func TestAStreamOverRESTBatchesWhatIsAtHand(t *testing.T) {
	var body strings.Builder
	for i := range maxBatch + 3 {
		body.WriteString(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + fmt.Sprint(i) + `"}}}`)
	}
	// All of it comes with one read, and the window holds it after a few.
	stream, err := saying[*corev1.Pod](t, body.String()).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	total, batches, largest := 0, 0, 0
	for {
		events, err := stream.Next()
		if err != nil {
			break
		}
		total, batches, largest = total+len(events), batches+1, max(largest, len(events))
	}
	if total != maxBatch+3 || batches > 10 || largest > maxBatch {
		t.Errorf("%d events in %d batches of up to %d", total, batches, largest)
	}
}
