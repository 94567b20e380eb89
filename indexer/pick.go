package indexer

import (
	"iter"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// pick calls yield, until it returns false, for the versions that meet all
// conditions. It goes through the objects that some index offers for one of them,
// the fewest there are, and compares those with the conditions.
func (w view[T]) pick(conditions []condition[T], yield func(*version[T]) bool) {
	conditions = slices.Clone(conditions)
	best := offer[T]{}
	fewest := math.MaxInt
	for i := range conditions {
		c := &conditions[i]
		if c.kind == termEqual {
			if c.bucket = c.index.bucket(c.from); c.bucket == nil {
				return
			}
		}
		for o := range c.offers {
			if n := o.size(fewest); n < fewest {
				best, fewest = o, n
			}
		}
	}
	meets := func(_ *entry[T], v *version[T]) bool {
		for i := range conditions {
			if !conditions[i].holds(v) {
				return true
			}
		}
		return yield(v)
	}
	if best.index == nil {
		w.each(meets)
		return
	}
	for b := range best.buckets {
		if !w.in(b, best.once(b, meets)) {
			return
		}
	}
}

// offer is what an index can offer for a condition: everything under some values,
// or under a range of them.
type offer[T any] struct {
	index  *index[T] // nil for everything there is
	values []string
	ranged bool
	Term   // its range, if ranged
}

// offers yields what the index of a condition has for it. A selector needs all
// of its requirements, so each of them is an offer.
func (c *condition[T]) offers(yield func(offer[T]) bool) {
	switch c.kind {
	case termEqual:
		yield(offer[T]{index: c.index, values: []string{c.from}})
	case termRange:
		yield(offer[T]{index: c.index, ranged: true, Term: c.Term})
	case termLabels:
		c.labelOffers(yield)
	}
}

func (c *condition[T]) labelOffers(yield func(offer[T]) bool) {
	if c.index == nil {
		return
	}
	requirements, selectable := c.selector.Requirements()
	if !selectable { // it matches nothing
		yield(offer[T]{index: c.index})
		return
	}
	for _, r := range requirements {
		if o, ok := labelOffer(c.index, r); ok && !yield(o) {
			return
		}
	}
}

// labelOffer finds what must have a label that is required; those that may lack
// it cannot be found.
func labelOffer[T any](ix *index[T], r labels.Requirement) (offer[T], bool) {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		o := offer[T]{index: ix}
		for value := range r.Values() {
			o.values = append(o.values, labelValue(r.Key(), value))
		}
		return o, true
	case selection.Exists, selection.GreaterThan, selection.LessThan:
		if ix.order == nil {
			return offer[T]{}, false
		}
		return offer[T]{index: ix, ranged: true, Term: Prefix(ix.name, labelValue(r.Key(), ""))}, true
	}
	return offer[T]{}, false
}

// buckets yields the buckets of an offer.
func (o *offer[T]) buckets(yield func(*bucket[T]) bool) {
	for _, value := range o.values {
		if b := o.index.bucket(value); b != nil && !yield(b) {
			return
		}
	}
	if !o.ranged {
		return
	}
	for b := o.index.order.first(o.from); b != nil && o.contains(b.value); b = b.next() {
		if !yield(b) {
			return
		}
	}
}

var _ iter.Seq[*bucket[any]] = (*offer[any])(nil).buckets

// size is the number of entries in the buckets of an offer, or something not
// below limit.
func (o *offer[T]) size(limit int) (n int) {
	for b := range o.buckets {
		if n += int(b.live.Load()); n >= limit {
			break
		}
	}
	return n
}

// once keeps an object that is listed under several values of a range from being
// yielded for another than the first of them.
func (o *offer[T]) once(b *bucket[T], yield func(*entry[T], *version[T]) bool) func(*entry[T], *version[T]) bool {
	if !o.ranged {
		return yield
	}
	return func(e *entry[T], v *version[T]) bool {
		for i := range v.postings {
			if of := v.postings[i].bucket; of.index == o.index && of.value < b.value && o.contains(of.value) {
				return true
			}
		}
		return yield(e, v)
	}
}
