package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheLastVersionIsThatOfThePodsLastEvent(t *testing.T) {
	for _, c := range []struct{ hot, events int }{{0, 1}, {0, 6}, {0, 7}, {0, 8}, {0, 20}, {0, 21}, {0, 22}, {2, 1}, {2, 2}, {2, 9}} {
		events := c.events
		l := newLoad(7, c.hot, events)
		versions := make(map[types.UID]string)
		for _, p := range l.initial {
			versions[p.UID] = p.ResourceVersion
		}
		for i := range events {
			p := l.event(i)
			versions[p.UID] = p.ResourceVersion
		}
		for i, p := range l.initial {
			if got, want := l.lastVersion(i), versions[p.UID]; got != want {
				t.Errorf("after %d events pod %d is at %s, want %s", events, i, got, want)
			}
		}
	}
}

func TestAnObjectComesBackOnlyWhenNobodyHoldsIt(t *testing.T) {
	for _, pods := range []int{1, 7, window - 1, window, window + 1} {
		events := 4*window + 8*pods
		l := newLoad(pods, 0, events)
		lastUse := make(map[*corev1.Pod]int)
		for _, p := range l.initial {
			lastUse[p] = -1 // these stay what they are
		}
		versions := make(map[string]bool)
		for i := range events {
			p := l.event(i)
			// The event after lastUse of the same pod still shows the object as
			// its old one.
			if before, used := lastUse[p]; used && (before < 0 || before+pods >= i-window) {
				t.Fatalf("%d pods: event %d brings the object of event %d", pods, i, before)
			}
			lastUse[p] = i
			versions[p.ResourceVersion] = true
		}
		if len(versions) != events {
			t.Errorf("%d pods: %d versions of %d events", pods, len(versions), events)
		}
	}
}
