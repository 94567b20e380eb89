package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItEndsWithEqualStoresAfterADroppedWatchAndA410(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), options{deployments: 20, podsEach: 3, workers: 2}, &out)
	if code := exitCode(t.Context(), err, &out); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for _, line := range []string{
		"18 Deployments, 48 Pods, 18 ConfigMaps",
		"equal to a LIST",
		"drops the watch on Pods",
		"410",
		"0 panics",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the output does not say %q", line)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// stopper cancels when it is told of a line that contains its word.
type stopper struct {
	word string
	stop context.CancelFunc
}

func (s stopper) Write(line []byte) (int, error) {
	if strings.Contains(string(line), s.word) {
		s.stop()
	}
	return len(line), nil
}

func TestAnInterruptEndsItCleanly(t *testing.T) {
	for _, moment := range []string{"embedded API server", "synced", "creating", "drops the watch on Pods", "forgets"} {
		t.Run("at "+moment, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := run(ctx, options{deployments: 20, podsEach: 2, workers: 2}, stopper{moment, cancel})
			var said bytes.Buffer
			if code := exitCode(ctx, err, &said); code != 130 || !strings.Contains(said.String(), "interrupted") {
				t.Errorf("exit status %d for %v: %s", code, err, &said)
			}
		})
	}
}

func TestAFailureIsToldAndExitsWith1(t *testing.T) {
	for name, opts := range map[string]options{
		"no deployments": {deployments: 0, podsEach: 1, workers: 1},
		"no workers":     {deployments: 1, podsEach: 1, workers: 0},
		"no kubeconfig":  {deployments: 1, podsEach: 1, workers: 1, kubeconfig: "does/not/exist"},
	} {
		var said bytes.Buffer
		if code := exitCode(t.Context(), run(t.Context(), opts, io.Discard), &said); code != 1 || said.Len() == 0 {
			t.Errorf("%s: exit status %d, said %q", name, code, &said)
		}
	}
	if code := exitCode(t.Context(), errors.Join(errDiffers), io.Discard); code != 1 {
		t.Errorf("a difference exits with %d", code)
	}
}
