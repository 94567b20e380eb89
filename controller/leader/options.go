package leader

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options say which Lease an [Election] is about, and how long it lasts.
type Options struct {
	// Leases is the client that reads and writes the Lease, such as
	// clientset.CoordinationV1(). It must be set. Give it a rate limit of its own, or
	// none: renewals that wait behind the writes of controllers come too late.
	Leases coordinationclient.LeasesGetter
	// Namespace and Name are those of the Lease. Both must be set. The election
	// makes the Lease if it is not there; it needs the verbs get, create and
	// update.
	Namespace, Name string
	// Identity stands for this process in the Lease. No two processes may have the
	// same: each would take the other's lease for its own. Empty means the name of
	// the host and a random part.
	Identity string

	// LeaseDuration is how long the others wait, after the last renewal that they
	// have seen, before one of them takes over. It is a number of whole seconds,
	// at most 2^31-1, for so the API stores it. 0 means 15 seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long after its last renewal this process leads no
	// longer. It must be less than LeaseDuration: the difference is what clocks may
	// disagree by, and what is left for contexts to end in. 0 means two thirds of
	// LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the pause between renewals, and between the tries to get the
	// lease. RenewDeadline must be more than 1.2 times as long. 0 means a fifth of
	// RenewDeadline.
	RetryPeriod time.Duration

	// Events, if not nil, is told who became leader and who stopped leading.
	Events resourcelock.EventRecorder
}

var errInvalid = errors.New("invalid")

// maxLease is what the field leaseDurationSeconds of a Lease can hold.
const maxLease = math.MaxInt32 * time.Second

// complete fills in the defaults and checks what was given.
func (o Options) complete() (Options, error) {
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, o.LeaseDuration*2/3)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, o.RenewDeadline/5)
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("no Identity was given, and the host has no name: %w", err)
		}
		o.Identity = host + "_" + string(uuid.NewUUID())
	}
	switch {
	case o.Leases == nil || reflect.ValueOf(o.Leases).Kind() == reflect.Pointer && reflect.ValueOf(o.Leases).IsNil():
		return o, fmt.Errorf("%w: Leases is nil", errInvalid)
	case o.Namespace == "" || o.Name == "":
		return o, fmt.Errorf("%w: Namespace %q and Name %q: both must be set", errInvalid, o.Namespace, o.Name)
	case o.LeaseDuration < time.Second || o.LeaseDuration%time.Second != 0:
		return o, fmt.Errorf("%w: LeaseDuration %v: must be a number of whole seconds", errInvalid, o.LeaseDuration)
	case o.LeaseDuration > maxLease:
		return o, fmt.Errorf("%w: LeaseDuration %v: must be at most %v", errInvalid, o.LeaseDuration, maxLease)
	case o.RenewDeadline <= 0 || o.RenewDeadline >= o.LeaseDuration:
		return o, fmt.Errorf("%w: RenewDeadline %v: must be less than LeaseDuration, %v", errInvalid, o.RenewDeadline, o.LeaseDuration)
	case o.RetryPeriod <= 0 || float64(o.RetryPeriod)*leaderelection.JitterFactor >= float64(o.RenewDeadline):
		return o, fmt.Errorf("%w: RetryPeriod %v: %v times as much must be less than RenewDeadline, %v",
			errInvalid, o.RetryPeriod, leaderelection.JitterFactor, o.RenewDeadline)
	}
	return o, nil
}
