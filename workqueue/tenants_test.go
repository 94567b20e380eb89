package workqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// byFolder is a tenant function: what stands before the slash.
func byFolder(key string) string {
	tenant, _, _ := strings.Cut(key, "/")
	return tenant
}

// order takes n keys, gives each back, and returns their tenants.
func order(t *testing.T, q *Queue[string], n int) string {
	t.Helper()
	var tenants []string
	for range n {
		key, ok := try(t, q)
		if !ok {
			t.Fatal("nothing is ready")
		}
		done(t, q, key, Result{})
		tenants = append(tenants, byFolder(key))
	}
	return strings.Join(tenants, "")
}

func addMany(t *testing.T, q *Queue[string], tenant string, n int) {
	t.Helper()
	for i := range n {
		add(t, q, fmt.Sprintf("%s/%d", tenant, i))
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	bubble(t, "however many keys one has", func(t *testing.T) { // field report 75
		q := newQueue(t, Options[string]{Tenant: byFolder})
		addMany(t, q, "a", 1000)
		get(t, q, "a/0")
		done(t, q, "a/0", Result{})
		add(t, q, "b/0")
		if got := order(t, q, 3); got != "aba" {
			t.Errorf("order: %s", got)
		}
	})
	bubble(t, "each in the order of its keys", func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		add(t, q, "a/2", "a/1", "a/3", "b/1", "c/2", "c/1")
		for _, want := range []string{"a/2", "b/1", "c/2", "a/1", "c/1", "a/3"} {
			get(t, q, want)
		}
		none(t, q)
	})
	bubble(t, "by weight", func(t *testing.T) {
		weights := map[string]int{"a": 3, "b": 2}
		q := newQueue(t, Options[string]{Tenant: byFolder, Weights: weights})
		weights["c"] = 100 // the queue has its own
		for _, tenant := range []string{"a", "b", "c"} {
			addMany(t, q, tenant, 100)
		}
		if got := order(t, q, 15); got != "aaabbcaaabbcaaa" {
			t.Errorf("order: %s", got)
		}
	})
	bubble(t, "and none is passed over for ever by new ones", func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		addMany(t, q, "a", 10)
		for i := range 10 { // before each turn another tenant comes
			add(t, q, fmt.Sprintf("%d/x", 2*i), fmt.Sprintf("%d/x", 2*i+1))
			if got := order(t, q, 1); i == 0 && got != "a" {
				t.Errorf("order: %s", got)
			}
		}
		if r, ok := q.Why("a/1"); ok {
			t.Errorf("still waiting after ten turns: %v", r)
		}
	})
	bubble(t, "among keys of one priority only", func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		addMany(t, q, "a", 3)
		for i := range 3 {
			addWith(t, q, fmt.Sprint("b/", i), AddOptions{Priority: 1})
		}
		addWith(t, q, "c/0", AddOptions{Priority: 1})
		addWith(t, q, "c/1", AddOptions{Priority: Low})
		if got := order(t, q, 8); got != "bcbbaaac" {
			t.Errorf("order: %s", got)
		}
	})
	bubble(t, "and keep them when a key fails", func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		add(t, q, "a/0")
		get(t, q, "a/0")
		done(t, q, "a/0", Result{Err: errFailed, After: -1})
		addMany(t, q, "b", 3)
		if r, _ := q.Why("a/0"); r.Tenant != "a" {
			t.Errorf("%v", r)
		}
		if got := order(t, q, 4); got != "abbb" {
			t.Errorf("order: %s", got)
		}
	})
	t.Run("by namespace, for names of objects", func(t *testing.T) {
		q, err := New(Options[types.NamespacedName]{Tenant: Namespace})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, namespace := range []string{"x", "x", "x", "y"} {
			key := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(q.Len())}
			if err := q.Add(key); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			key, err := q.Get(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key.String())
		}
		if want := []string{"x/0", "y/3", "x/1", "x/2"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestTenantsWithoutEndCostNothing has a new tenant for each key.
func TestTenantsWithoutEndCostNothing(t *testing.T) {
	q := newQueue(t, Options[string]{Tenant: byFolder})
	for i := range 10_000 {
		addWith(t, q, fmt.Sprintf("%d/x", i), AddOptions{Priority: i % 3, After: time.Duration(i % 2)})
		if _, err := q.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		done(t, q, fmt.Sprintf("%d/x", i), Result{})
	}
	if n := len(q.ready.byID); n != 0 {
		t.Errorf("%d lanes without keys", n)
	}
	if n := len(q.ready.rounds); n != 3 {
		t.Errorf("%d rounds, want one for each priority", n)
	}
}
