package leader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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
		`Namespace ""`:                func(o *Options) { o.Namespace = "" },
		`Name ""`:                     func(o *Options) { o.Name = "" },
		"whole seconds":               func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond },
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
