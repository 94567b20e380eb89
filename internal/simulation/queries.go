package simulation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// query is a question to a store, and what meets it.
type query struct {
	name  string
	terms []indexer.Term
	meets func(obj metav1.Object) bool
	// inOrder says that what is found comes in the order of the ordered index.
	inOrder bool
}

// queries ask for everything that Select can find, by labels that are indexed, by
// values, ranges of values, and several of them.
func queries() []query {
	red, green := colours[0], colours[1]
	has := func(index string, fits func(value string) bool) func(metav1.Object) bool {
		return func(obj metav1.Object) bool { return slices.ContainsFunc(indexFuncs[index](obj), fits) }
	}
	is := func(value string) func(string) bool { return func(v string) bool { return v == value } }
	label := func(op selection.Operator, values ...string) indexer.Term {
		r, err := labels.NewRequirement(colourLabel, op, values)
		if err != nil {
			panic(err)
		}
		return indexer.Labels(labels.NewSelector().Add(*r))
	}
	isRed, isGreen := has("colour", is(red)), has("colour", is(green))
	return []query{
		{name: "everything", meets: func(metav1.Object) bool { return true }},
		{name: "a label", terms: []indexer.Term{label(selection.Equals, red)}, meets: isRed},
		{
			name: "two labels", terms: []indexer.Term{label(selection.In, red, green)},
			meets: func(obj metav1.Object) bool { return isRed(obj) || isGreen(obj) },
		},
		{
			name: "not a label", terms: []indexer.Term{label(selection.NotEquals, red)},
			meets: func(obj metav1.Object) bool { return !isRed(obj) },
		},
		{
			name:  "a value and a label",
			terms: []indexer.Term{indexer.Equal(orderedIndex, namespaces[0]), label(selection.Equals, green)},
			meets: func(obj metav1.Object) bool { return isGreen(obj) && obj.GetNamespace() == namespaces[0] },
		},
		{
			name: "a range", terms: []indexer.Term{indexer.Range(orderedIndex, "", "c")},
			meets: has(orderedIndex, func(v string) bool { return v < "c" }), inOrder: true,
		},
		{
			name: "a prefix and a value", terms: []indexer.Term{indexer.Prefix(orderedIndex, "b"), indexer.Equal("colour", green)},
			meets: func(obj metav1.Object) bool {
				return isGreen(obj) && has(orderedIndex, func(v string) bool { return v[0] == 'b' })(obj)
			},
		},
	}
}

// checkQueries compares what queries find with what they should find among the
// objects in the store.
func checkQueries[T reflector.Object](store indexer.Reader[T]) error {
	for _, q := range queries() {
		found, err := store.Select(q.terms...)
		if err != nil {
			return err
		}
		got := make(map[any]bool)
		var last string
		for obj := range found {
			if got[obj] || !q.meets(obj) {
				return fmt.Errorf("%s finds %s/%s, again or by mistake", q.name, obj.GetNamespace(), obj.GetName())
			}
			got[obj] = true
			if q.inOrder {
				value := slices.Min(indexFuncs[orderedIndex](obj))
				if value < last {
					return fmt.Errorf("%s finds %s after %s", q.name, value, last)
				}
				last = value
			}
		}
		for e := range store.Entries() {
			if q.meets(e.Object) && !got[any(e.Object)] {
				return fmt.Errorf("%s does not find %s", q.name, e.Key)
			}
		}
	}
	return nil
}
