package workqueue

import (
	"testing"
	"time"
)

func TestBackoffDefaults(t *testing.T) {
	for _, tt := range []struct{ given, want Backoff }{
		{Backoff{}, Backoff{DefaultBackoffBase, DefaultBackoffMax}},
		{Backoff{Base: time.Hour}, Backoff{time.Hour, time.Hour}},
		{Backoff{Max: time.Millisecond}, Backoff{time.Millisecond, time.Millisecond}},
		{Backoff{Max: time.Hour}, Backoff{DefaultBackoffBase, time.Hour}},
	} {
		if got, err := tt.given.complete(); got != tt.want || err != nil {
			t.Errorf("%v: %v, %v, want %v", tt.given, got, err, tt.want)
		}
	}
	whole := Backoff{Base: 1, Max: 1<<63 - 1}
	for failures, want := range map[uint16]time.Duration{
		0: 0, 1: 1, 2: 2, 62: 1 << 61, 63: 1 << 62, 64: whole.Max, 1<<16 - 1: whole.Max,
	} {
		if got := whole.ceiling(failures); got != want {
			t.Errorf("after %d failures: %d, want %d", failures, got, want)
		}
	}
}
