package recorder_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/e2e/recorder"
	"heliograph.example/informer"
)

type (
	object = metav1.PartialObjectMetadata
	change = informer.Change[*object]
)

func at(uid, version string) *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o", UID: types.UID(uid), ResourceVersion: version}}
}

func told(kind string, old, new *object) change {
	c := change{Key: types.NamespacedName{Namespace: "n", Name: "o"}, UID: new.UID, Version: new.ResourceVersion, Old: old, New: new}
	switch kind {
	case "add":
		c.Type = informer.Added
	case "update":
		c.Type = informer.Updated
	case "delete":
		c.Type = informer.Deleted
	}
	return c
}

func unseen(old *object) change {
	c := told("delete", old, old)
	c.New, c.FinalStateUnknown = nil, true
	return c
}

func with(c change, alter func(*change)) change {
	alter(&c)
	return c
}

func TestARecorderAcceptsWhatKeepsThePromiseAndNamesWhatBreaksIt(t *testing.T) {
	a1, a2, a3, a9 := at("a", "1"), at("a", "2"), at("a", "3"), at("a", "9")
	b4, b5 := at("b", "4"), at("b", "5")
	tests := []struct {
		name     string
		filtered bool
		changes  []change
		broken   string // part of the error; empty for none
	}{
		{name: "a whole life", changes: []change{told("add", nil, a1), told("update", a1, a2), told("delete", a2, a3)}},
		{name: "a successor with a UID of its own", changes: []change{told("add", nil, a1), told("delete", a1, a2), told("add", nil, b4), told("update", b4, b5)}},
		{name: "an end that nobody saw", changes: []change{told("add", nil, a1), unseen(a1)}},
		{name: "an end that nobody saw, at the version of a list", changes: []change{told("add", nil, a1), with(unseen(a1), func(c *change) { c.Version = "90" })}},
		{name: "a resync", changes: []change{told("add", nil, a1), with(told("update", a1, a1), func(c *change) { c.Resync = true })}},
		{name: "a return behind a filter", filtered: true, changes: []change{told("add", nil, a1), told("delete", a1, a2), told("add", nil, a3)}},

		{name: "an add of what is alive", changes: []change{told("add", nil, a1), told("add", nil, a2)}, broken: "added while alive"},
		{name: "an add with an old state", changes: []change{told("add", a1, a2)}, broken: "Old is set"},
		{name: "a return from the dead", changes: []change{told("add", nil, a1), told("delete", a1, a2), told("add", nil, a3)}, broken: "came back"},
		{name: "an update of nothing", changes: []change{told("update", a1, a2)}, broken: "not alive"},
		{name: "a delete of nothing", changes: []change{told("delete", a1, a2)}, broken: "not alive"},
		{name: "an old state that was never told", changes: []change{told("add", nil, a1), told("update", a2, a3)}, broken: "not what New was last"},
		{name: "an equal copy as old state", changes: []change{told("add", nil, a1), told("update", at("a", "1"), a2)}, broken: "not what New was last"},
		{name: "a UID that changes in an update", changes: []change{told("add", nil, a1), told("update", a1, b4)}, broken: "another UID"},
		{name: "a version that goes back", changes: []change{told("add", nil, a9), told("update", a9, a2)}, broken: "not older"},
		{name: "a version that stays", changes: []change{told("add", nil, a2), told("update", a2, at("a", "2"))}, broken: "not older"},
		{name: "a version that goes back over a delete", changes: []change{told("add", nil, a3), told("delete", a3, a9), told("add", nil, b4)}, broken: "not older"},
		{name: "an unknown end that goes back", changes: []change{told("add", nil, a9), with(unseen(a9), func(c *change) { c.Version = "8" })}, broken: "not older"},
		{name: "ten is newer than nine", changes: []change{told("add", nil, a9), told("update", a9, at("a", "10"))}},
		{name: "a version that is none", changes: []change{told("add", nil, at("a", "x"))}, broken: "resource version"},
		{name: "a resync with news", changes: []change{told("add", nil, a1), with(told("update", a1, a2), func(c *change) { c.Resync = true })}, broken: "something new"},
		{name: "an initial update", changes: []change{told("add", nil, a1), with(told("update", a1, a2), func(c *change) { c.Initial = true })}, broken: "not for its type"},
		{name: "an unknown end with a final state", changes: []change{told("add", nil, a1), with(unseen(a1), func(c *change) { c.New = a2 })}, broken: "although the final state is unknown"},
		{name: "no object", changes: []change{with(told("add", nil, a1), func(c *change) { c.New = nil })}, broken: "New is not set"},
		{name: "a type that is none", changes: []change{told("bookmark", nil, a1)}, broken: "no such type"},
		{name: "another object's key", changes: []change{with(told("add", nil, a1), func(c *change) { c.Key.Name = "p" })}, broken: "another object"},
		{name: "another object's UID", changes: []change{with(told("add", nil, a1), func(c *change) { c.UID = "b" })}, broken: "New has UID"},
		{name: "another version than the object's", changes: []change{with(told("add", nil, a1), func(c *change) { c.Version = "2" })}, broken: "New has version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := recorder.New(recorder.Options[*object]{Filtered: test.filtered})
			for _, c := range test.changes {
				r.Handle(t.Context(), c)
			}
			switch err := r.Err(); {
			case test.broken == "" && err != nil:
				t.Errorf("complains: %v", err)
			case test.broken != "" && err == nil:
				t.Error("no complaint")
			case test.broken != "" && !strings.Contains(err.Error(), test.broken):
				t.Errorf("complains, but not with %q: %v", test.broken, err)
			}
			if r.Len() != len(test.changes) || len(r.Told()) != r.Len() {
				t.Errorf("recorded %d of %d changes", r.Len(), len(test.changes))
			}
		})
	}
}

func TestARecorderNoticesTwoCallsAtATime(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	r := recorder.New(recorder.Options[*object]{Work: func(context.Context, change) { both.Done(); both.Wait() }})
	var calls sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		o := at(name, "1")
		o.Name = name
		calls.Go(func() { r.Handle(t.Context(), with(told("add", nil, o), func(c *change) { c.Key.Name = name })) })
	}
	calls.Wait()
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "two calls") {
		t.Errorf("got %v", err)
	}
}

func TestStateIsWhereTheChangesLead(t *testing.T) {
	r := recorder.New(recorder.Options[*object]{})
	a1, a2 := at("a", "1"), at("a", "2")
	r.Handle(t.Context(), told("add", nil, a1))
	r.Handle(t.Context(), told("update", a1, a2))
	if err := recorder.Diff(r.State(), recorder.StateOf([]*object{a2})); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][]*object{nil, {a1}, {at("b", "2")}} {
		if recorder.Diff(r.State(), recorder.StateOf(wrong)) == nil {
			t.Errorf("no difference to %v", recorder.StateOf(wrong))
		}
	}
	r.Handle(t.Context(), told("delete", a2, at("a", "3")))
	if err := recorder.Diff(r.State(), nil); err != nil {
		t.Error(err)
	}
}

func TestWithinFindsWhatHasNeverHappened(t *testing.T) {
	key := types.NamespacedName{Namespace: "n", Name: "o"}
	var h recorder.History
	h.Note(key, recorder.State{UID: "a", Version: "1"}, false)
	h.Note(key, recorder.State{UID: "a", Version: "2"}, false)
	h.Note(key, recorder.State{UID: "a", Version: "3"}, true)
	a1, a2, a3 := at("a", "1"), at("a", "2"), at("a", "3")
	tests := []struct {
		name     string
		filtered bool
		changes  []change
		happened bool
	}{
		{"all of it", false, []change{told("add", nil, a1), told("update", a1, a2), told("delete", a2, a3)}, true},
		{"a part of it", false, []change{told("add", nil, a2), told("delete", a2, a3)}, true},
		{"a state that never was", false, []change{told("add", nil, at("a", "4"))}, false},
		{"a delete where there was an update", false, []change{told("add", nil, a1), told("delete", a1, a2)}, false},
		{"a filter's delete where there was an update", true, []change{told("add", nil, a1), told("delete", a1, a2)}, true},
		{"a filter's state that never was", true, []change{told("add", nil, at("a", "4"))}, false},
		{"an end that nobody saw", false, []change{told("add", nil, a1), unseen(a1)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := recorder.New(recorder.Options[*object]{Filtered: test.filtered})
			for _, c := range test.changes {
				r.Handle(t.Context(), c)
			}
			if err := r.Within(&h); (err == nil) != test.happened {
				t.Errorf("got %v", err)
			}
		})
	}
}
