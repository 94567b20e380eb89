package indexer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

type labelled = *metav1.PartialObjectMetadata

func labelledStore(t *testing.T, indexes Indexes[labelled], objs []labelled) *Indexer[labelled] {
	t.Helper()
	s, err := New(indexes)
	if err != nil {
		t.Fatal(err)
	}
	s.Update(func(tx Tx[labelled]) {
		for _, o := range objs {
			key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
			if err := tx.Put(Entry[labelled]{Key: key, Object: o}); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func names(objs []labelled) []string {
	found := []string{}
	for _, o := range objs {
		found = append(found, o.Name)
	}
	slices.Sort(found)
	return found
}

// TestSelectorsFindWhatTheyMatch compares each selector with a scan, with and
// without an index of labels, alone and within a namespace.
func TestSelectorsFindWhatTheyMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var objs []labelled
	for i := range 300 {
		o := &metav1.PartialObjectMetadata{}
		o.Namespace, o.Name = fmt.Sprint("ns-", i%3), fmt.Sprint("obj-", i)
		o.Labels = map[string]string{}
		for _, key := range []string{"app", "app2", "tier", "size"} {
			if random.IntN(3) > 0 {
				o.Labels[key] = fmt.Sprint(random.IntN(4))
			}
		}
		objs = append(objs, o)
	}
	indexed := labelledStore(t, Indexes[labelled]{NamespaceIndex: ByNamespace[labelled](), LabelIndex: ByLabels[labelled]()}, objs)
	plain := labelledStore(t, Indexes[labelled]{NamespaceIndex: ByNamespace[labelled]()}, objs)
	for _, text := range []string{
		"", "app=1", "app==1,tier=2", "app!=1", "app in (0,2)", "app in (0,1,2,3),tier", "app notin (1,2)", "app", "!app",
		"size>1", "size<2,app", "app=9", "none", "!none", "app=1,app2 in (2,3),!tier",
	} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		wantSelected(t, text, selector, indexed, plain, objs)
	}
	wantSelected(t, "nothing", labels.Nothing(), indexed, plain, objs)
}

func wantSelected(t *testing.T, text string, selector labels.Selector, indexed, plain *Indexer[labelled], objs []labelled) {
	t.Helper()
	matching := slices.DeleteFunc(slices.Clone(objs), func(o labelled) bool { return !selector.Matches(labels.Set(o.Labels)) })
	inOne := slices.DeleteFunc(slices.Clone(matching), func(o labelled) bool { return o.Namespace != "ns-1" })
	for name, s := range map[string]*Indexer[labelled]{"indexed": indexed, "plain": plain} {
		for _, c := range []struct {
			terms []Term
			want  []labelled
		}{
			{[]Term{Labels(selector)}, matching},
			{[]Term{Labels(selector), Equal(NamespaceIndex, "ns-1")}, inOne},
		} {
			seq, err := s.Select(c.terms...)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := names(slices.Collect(seq)), names(c.want); !slices.Equal(got, want) {
				t.Errorf("%s, %q with %d terms: %v, want %v", name, text, len(c.terms), got, want)
			}
		}
	}
}

// A selector that names a label must not look at what has none of that value.
func TestALabelIndexSparesWhatCannotMatch(t *testing.T) {
	for text, most := range map[string]int{"app=rare": 1, "app in (rare,none)": 1, "rare": 1, "app=often,rare": 1} {
		t.Run(text, func(t *testing.T) {
			var objs []labelled
			for i := range 100 {
				o := &metav1.PartialObjectMetadata{}
				o.Name, o.Labels = fmt.Sprint(i), map[string]string{"app": "often"}
				if i == 7 {
					o.Labels = map[string]string{"app": "rare", "rare": ""}
				}
				objs = append(objs, o)
			}
			s := labelledStore(t, Indexes[labelled]{LabelIndex: ByLabels[labelled]()}, objs)
			selector, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			counted := &counting{Selector: selector}
			seq, err := s.Select(Labels(counted))
			if err != nil {
				t.Fatal(err)
			}
			for range seq {
			}
			if counted.compared > most {
				t.Errorf("%d objects were compared, want %d", counted.compared, most)
			}
		})
	}
}

type counting struct {
	labels.Selector
	compared int
}

func (c *counting) Matches(l labels.Labels) bool { c.compared++; return c.Selector.Matches(l) }

func TestATermThatDoesNotFitIsAnError(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	for want, term := range map[error]Term{
		ErrUnknownIndex: Equal("size", "x"),
		ErrNotOrdered:   Prefix("values", "x"),
		ErrNilSelector:  Labels(nil),
		ErrNoLabels:     Labels(labels.Everything()),
	} {
		seq, err := s.Select(Equal("color", "red"), term)
		if seq != nil || !errors.Is(err, want) {
			t.Errorf("Select(%+v) = %v, want %v", term, err, want)
		}
	}
	if _, err := s.Select(Range("values", "a", "b")); !errors.Is(err, ErrNotOrdered) || err.Error() != `index "values": the index is not ordered` {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Select(Term{}); !errors.Is(err, ErrUnknownIndex) {
		t.Errorf("the zero term: %v, want ErrUnknownIndex", err)
	}
}

func TestPrefixesAndRangesOfValues(t *testing.T) {
	s := makeStore(t, newIndexer, Indexes[*thing]{"color": byColor})
	colors := []string{"", "a", "ab", "ab\xff", "ab\xff\xff", "abc", "ac", "b", "\xff", "\xff\xff", "\xffa"}
	for i, color := range colors {
		mustPut(t, s, fmt.Sprint(i), &thing{id: i, color: color})
	}
	for _, c := range []struct {
		term Term
		want []string
	}{
		{Prefix("color", ""), colors},
		{Prefix("color", "ab"), []string{"ab", "ab\xff", "ab\xff\xff", "abc"}},
		{Prefix("color", "ab\xff"), []string{"ab\xff", "ab\xff\xff"}},
		{Prefix("color", "\xff"), []string{"\xff", "\xff\xff", "\xffa"}},
		{Prefix("color", "z"), nil},
		{Range("color", "ab", "ac"), []string{"ab", "ab\xff", "ab\xff\xff", "abc"}},
		{Range("color", "b", ""), []string{"b", "\xff", "\xff\xff", "\xffa"}},
		{Range("color", "", "a"), []string{""}},
		{Range("color", "a", "a"), nil},
		{Range("color", "b", "a"), nil},
	} {
		seq, err := s.Select(c.term)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for o := range seq {
			got = append(got, o.color)
		}
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("from %q to %q: %q, want %q", c.term.from, c.term.to, got, c.want)
		}
	}
}
