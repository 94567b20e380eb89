package main

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestACheckNoticesWhatWasNotDelivered(t *testing.T) {
	d := newDelivery(2)
	for _, c := range d.counters {
		c.add()
		c.update()
	}
	if err := d.check(1, 1); err != nil {
		t.Errorf("everything was delivered, and still: %v", err)
	}
	d.counters[1].update()
	if d.check(1, 1) == nil || d.check(1, 2) == nil {
		t.Error("an update too many, or too few, goes unnoticed")
	}
	d.counters[0].update()
	d.counters[0].delete()
	if d.check(1, 2) == nil {
		t.Error("a delete goes unnoticed")
	}
}

func TestAwaitEndsWhenTheSlowestHandlerIsThere(t *testing.T) {
	d := newDelivery(3)
	for n, c := range d.counters {
		go func() {
			for range stage * (n + 1) {
				c.update()
			}
		}()
	}
	if err := d.await(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	if got := d.slowest(); got != stage {
		t.Errorf("the slowest handler has %d updates, want %d", got, stage)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d.await(ctx, 2*stage) == nil {
		t.Error("a wait that cannot end well ends well")
	}
	if err := d.await(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	for d.counters[2].updates.Load() < 3*stage || d.counters[1].updates.Load() < 2*stage {
		<-d.progress
	}
}

// wrong is a store that lacks what its test says.
type wrong struct {
	side
	objects int
	at      func(types.NamespacedName) (string, bool)
	listed  int
}

func (w wrong) len() int                                        { return w.objects }
func (w wrong) version(key types.NamespacedName) (string, bool) { return w.at(key) }
func (w wrong) indexed(string, string) (int, error)             { return w.listed, nil }

func TestACheckNoticesWhatTheStoreLacks(t *testing.T) {
	one := func(int) string { return "1" }
	set := datasets[0]
	at := func(v string, ok bool) func(types.NamespacedName) (string, bool) {
		return func(types.NamespacedName) (string, bool) { return v, ok }
	}
	if err := checkStore(wrong{objects: 1, at: at("1", true), listed: 1}, set, 1, one); err != nil {
		t.Errorf("the store is right, and still: %v", err)
	}
	for name, w := range map[string]wrong{
		"an object too many":     {objects: 2, at: at("1", true), listed: 1},
		"an object that lacks":   {objects: 1, at: at("", false), listed: 1},
		"an old version":         {objects: 1, at: at("0", true), listed: 1},
		"an index that is empty": {objects: 1, at: at("1", true), listed: 0},
	} {
		if checkStore(w, set, 1, one) == nil {
			t.Errorf("%s goes unnoticed", name)
		}
	}
}
