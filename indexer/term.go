package indexer

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Term is one condition of [Reader.Select]. Make it with [Equal], [Prefix],
// [Range] or [Labels]. The zero value names no index, and is refused.
type Term struct {
	kind     termKind
	index    string
	from, to string
	selector labels.Selector
}

type termKind int

const (
	termEqual termKind = iota
	termRange
	termLabels
)

// Equal is met by the objects that an index lists under value.
func Equal(index, value string) Term { return Term{kind: termEqual, index: index, from: value} }

// Range is met by the objects that an ordered index lists under a value v with
// from <= v < to, compared byte by byte. An empty to stands for no upper bound. If
// to is not above from, nothing meets it. For an index that is not
// [Index.Ordered], Select fails with [ErrNotOrdered].
func Range(index, from, to string) Term {
	return Term{kind: termRange, index: index, from: from, to: to}
}

// Prefix is met by the objects that an ordered index lists under a value with that
// prefix; the empty one is that of every value. For an index that is not
// [Index.Ordered], Select fails with [ErrNotOrdered].
func Prefix(index, prefix string) Term { return Range(index, prefix, prefixEnd(prefix)) }

// prefixEnd is the first string above all those with a prefix, empty if there is
// none.
func prefixEnd(prefix string) string {
	for n := len(prefix) - 1; n >= 0; n-- {
		if prefix[n] != 0xff {
			return prefix[:n] + string([]byte{prefix[n] + 1})
		}
	}
	return ""
}

// Labels is met by the objects whose labels match a selector. If the store has an
// index by [ByLabels], objects are found by it, as far as the selector asks for
// labels that must be there; else every object that meets the other terms is
// compared. Select fails with [ErrNilSelector] if the selector is nil, and with
// [ErrNoLabels] if the stored type is not a metav1.Object.
func Labels(selector labels.Selector) Term { return Term{kind: termLabels, selector: selector} }

// condition is a term for a store. Bucket is set for each loop anew.
type condition[T any] struct {
	Term
	index  *index[T] // that of the labels, perhaps nil, if there is a selector
	bucket *bucket[T]
}

// conditions finds the indexes of terms.
func (r *reads[T]) conditions(terms []Term) ([]condition[T], error) {
	w, p, ok := r.open()
	if !ok {
		return nil, ErrClosed
	}
	defer r.closeSoon(p)
	conditions := make([]condition[T], len(terms))
	for i, term := range terms {
		index, err := w.state().indexOf(term)
		if err != nil {
			return nil, err
		}
		conditions[i] = condition[T]{Term: term, index: index}
	}
	return conditions, nil
}

func (s *state[T]) indexOf(term Term) (*index[T], error) {
	if term.kind != termLabels {
		ix, err := s.named(term.index)
		if err == nil && term.kind == termRange && ix.order == nil {
			return nil, fmt.Errorf("index %q: %w", term.index, ErrNotOrdered)
		}
		return ix, err
	}
	if term.selector == nil {
		return nil, ErrNilSelector
	}
	if !reflect.TypeFor[T]().Implements(reflect.TypeFor[metav1.Object]()) {
		return nil, fmt.Errorf("%w: %v", ErrNoLabels, reflect.TypeFor[T]())
	}
	for _, ix := range s.indexes {
		if ix.labels != nil {
			return ix, nil
		}
	}
	return nil, nil
}

// contains reports whether a value is in the range of the term.
func (t Term) contains(value string) bool {
	return value >= t.from && (t.to == "" || value < t.to)
}

// holds reports whether a version meets the condition.
func (c *condition[T]) holds(v *version[T]) bool {
	switch c.kind {
	case termEqual:
		return find(v.postings, c.bucket) >= 0
	case termRange:
		for i := range v.postings {
			if b := v.postings[i].bucket; b.index == c.index && c.contains(b.value) {
				return true
			}
		}
		return false
	default:
		return c.selector.Matches(labels.Set(any(v.object).(metav1.Object).GetLabels()))
	}
}
