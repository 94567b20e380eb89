package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heliograph.example/examples/operator/sites"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheDemonstrationShowsTheLifeOfASite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := demonstrate(ctx, options{operator: sites.Options{Namespace: "default", Workers: 2}}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"Ready=False (Progressing)", "Ready=True (Serving)", "0 pages are in the register", "the lease is free"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
