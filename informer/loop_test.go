package informer

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

type delta = deltafifo.Delta[*corev1.ConfigMap]

// change makes a delta of ns/a with a UID and a version, whose value is the
// version.
func change(t deltafifo.Type, uid string, version int) delta {
	d := delta{Type: t, Key: key("a"), UID: types.UID(uid), Version: strconv.Itoa(version)}
	d.Object = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: d.UID, ResourceVersion: d.Version},
		Data:       map[string]string{"v": d.Version},
	}
	return d
}

func unseen(uid string, version int) delta {
	d := change(deltafifo.Deleted, uid, version)
	d.Object, d.FinalStateUnknown = nil, true
	return d
}

func replaced(version int, items ...delta) delta {
	return delta{Type: deltafifo.Replaced, Version: strconv.Itoa(version), Items: items}
}

// opaque gives a delta a version that cannot be compared with others.
func opaque(d delta, version string) delta { d.Version = version; return d }

// TestTheLoopTurnsDeltasIntoAChain applies deltas to a store that a first list has
// left with ns/a of UID u at version 10, and looks at what handlers are told.
func TestTheLoopTurnsDeltasIntoAChain(t *testing.T) {
	const added, updated, deleted = deltafifo.Added, deltafifo.Updated, deltafifo.Deleted
	for name, c := range map[string]struct {
		in      []delta
		want    []string
		version string
	}{
		"a part of a list, and then the end of the resource": {
			[]delta{replaced(10, change(updated, "u", 30)), replaced(10, unseen("u", 10))}, []string{"Updated a=30", "Deleted a=30 unseen"}, "10"},
		"a newer state":                          {[]delta{change(updated, "u", 11)}, []string{"Updated a=11"}, "11"},
		"an Added of what is there is an update": {[]delta{change(added, "u", 11)}, []string{"Updated a=11"}, "11"},
		"the same state again":                   {[]delta{change(updated, "u", 10)}, nil, "10"},
		"an older state":                         {[]delta{change(updated, "u", 9)}, nil, "10"},
		"an older state after a newer one":       {[]delta{change(updated, "u", 12), change(updated, "u", 11)}, []string{"Updated a=12"}, "12"},
		"a delete":                               {[]delta{change(deleted, "u", 11)}, []string{"Deleted a=11"}, "11"},
		"a delete without a version of its own":  {[]delta{change(deleted, "u", 10)}, []string{"Deleted a=10"}, "10"},
		"an older delete":                        {[]delta{change(deleted, "u", 9)}, nil, "10"},
		"a delete twice":                         {[]delta{change(deleted, "u", 11), change(deleted, "u", 11)}, []string{"Deleted a=11"}, "11"},
		"a delete and a new object":              {[]delta{change(deleted, "u", 11), change(added, "w", 12)}, []string{"Deleted a=11", "Added a=12"}, "12"},
		"a new object without a delete":          {[]delta{change(added, "w", 12)}, []string{"Deleted a=10 unseen", "Added a=12"}, "12"},
		"an update of a new object":              {[]delta{change(updated, "w", 12)}, []string{"Deleted a=10 unseen", "Added a=12"}, "12"},
		"the end of an object never seen":        {[]delta{change(deleted, "w", 12)}, []string{"Deleted a=10 unseen"}, "12"},
		"a list without it":                      {[]delta{replaced(20, unseen("u", 20))}, []string{"Deleted a=10 unseen"}, "20"},
		"a list with another":                    {[]delta{replaced(20, unseen("u", 20), change(added, "w", 15))}, []string{"Deleted a=10 unseen", "Added a=15"}, "20"},
		"a list of a server that went back":      {[]delta{replaced(8, change(updated, "u", 7))}, []string{"Updated a=7"}, "8"},
		"a list with nothing new":                {[]delta{replaced(20)}, nil, "20"},
		"the same opaque version again":          {[]delta{opaque(change(updated, "u", 11), "x"), opaque(change(updated, "u", 12), "x")}, []string{"Updated a=11"}, "x"},
		"another opaque version":                 {[]delta{opaque(change(updated, "u", 11), "x"), opaque(change(updated, "u", 12), "w")}, []string{"Updated a=11", "Updated a=12"}, "w"},
		"a bookmark":                             {[]delta{{Type: deltafifo.Bookmark, Version: "30"}}, nil, "30"},
		"a bookmark that comes late":             {[]delta{{Type: deltafifo.Bookmark, Version: "9"}}, nil, "10"},
	} {
		t.Run(name, func(t *testing.T) {
			i := stopped(t, newWorld(), Options[*corev1.ConfigMap]{})
			i.apply([]delta{replaced(10, change(added, "u", 10))})
			l := newListener[*corev1.ConfigMap](nil, HandlerOptions[*corev1.ConfigMap]{Budget: 100}, i.report)
			i.processor.add(l)
			l.take() // the initial object
			i.apply(c.in)
			var got []string
			for batch := l.take(); batch != nil; batch = l.take() {
				for _, c := range batch {
					got = append(got, describe(c))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
			if v := i.Store().Version(); v != c.version {
				t.Errorf("the store stands for version %q, want %q", v, c.version)
			}
		})
	}
}
