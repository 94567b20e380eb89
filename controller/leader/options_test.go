package leader

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver/apiservertest"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	good := Options{Leases: client.CoordinationV1(), Namespace: "n", Name: "l"}
	if e, err := New(good); err != nil || e.Identity() == "" {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Options){
		"Leases is nil":               func(o *Options) { o.Leases = nil },
		"invalid: Leases is nil":      func(o *Options) { o.Leases = (*coordinationclient.CoordinationV1Client)(nil) },
		`Namespace ""`:                func(o *Options) { o.Namespace = "" },
		`Name ""`:                     func(o *Options) { o.Name = "" },
		"whole seconds":               func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond },
		"at most 596523h14m7s":        func(o *Options) { o.LeaseDuration = (math.MaxInt32 + 1) * time.Second },
		"LeaseDuration -1s":           func(o *Options) { o.LeaseDuration = -time.Second },
		"RenewDeadline 15s":           func(o *Options) { o.RenewDeadline = 15 * time.Second },
		"RenewDeadline -1s":           func(o *Options) { o.RenewDeadline = -time.Second },
		"RetryPeriod 9s: 1.2 times":   func(o *Options) { o.RetryPeriod = 9 * time.Second },
		"RetryPeriod -1ns: 1.2 times": func(o *Options) { o.RetryPeriod = -1 },
	} {
		opts := good
		spoil(&opts)
		if _, err := New(opts); !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	e, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	if err := e.Run(none); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
	if _, err := e.Lead(none); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
}

func TestAContextThatHasEndedWinsNothing(t *testing.T) {
	bubble(t, "and leaves the lease to others", func(t *testing.T, server *apiservertest.Server) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		if _, err := a.Lead(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Lead: %v", err)
		}
		if err := a.Run(ended); err != nil {
			t.Errorf("Run: %v", err)
		}
		if s := a.Status(); s.Phase != Stopped {
			t.Errorf("%+v", s)
		}
		if _, err := a.Lead(t.Context()); !errors.Is(err, ErrEnded) {
			t.Errorf("Lead afterwards: %v", err)
		}
		began := time.Now()
		b.start()
		b.term().Leave(true)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("b leads after %v", took)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}
