package controller

import (
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/informer"
)

// Predicate says whether a change is worth a reconcile; see [WatchOptions].Where.
// It must be safe for concurrent use, should be quick, and must not modify the
// objects. If it panics, the panic is reported and counted, and the change counts
// as worth it.
//
// The predicates of this package compare the two states of an object, and let
// everything pass that has not two: what is added and what is deleted.
type Predicate[T any] func(change informer.Change[T]) bool

// GenerationChanged lets updates pass that change metadata.generation. The server
// raises it with each change of what is desired of an object, as of its spec, for
// all custom resources with a status subresource and most built-in types that have
// a status; so it keeps out changes of the status, and also of labels and
// annotations. An object that has no generation, such as a ConfigMap, always
// passes.
func GenerationChanged[T metav1.Object](c informer.Change[T]) bool {
	return !isUpdate(c) || c.New.GetGeneration() == 0 || c.Old.GetGeneration() != c.New.GetGeneration()
}

// LabelsChanged lets updates pass that change a label.
func LabelsChanged[T metav1.Object](c informer.Change[T]) bool {
	return !isUpdate(c) || !maps.Equal(c.Old.GetLabels(), c.New.GetLabels())
}

// AnnotationsChanged lets updates pass that change an annotation.
func AnnotationsChanged[T metav1.Object](c informer.Change[T]) bool {
	return !isUpdate(c) || !maps.Equal(c.Old.GetAnnotations(), c.New.GetAnnotations())
}

// FieldChanged lets updates pass that change what field returns: a part of the
// object of any type, or a value made of it. Values are compared deeply, as the
// API server compares them: an empty slice or map equals a missing one, and
// quantities and times equal others of the same amount.
func FieldChanged[T, V any](field func(obj T) V) Predicate[T] {
	return func(c informer.Change[T]) bool {
		return !isUpdate(c) || !apiequality.Semantic.DeepEqual(field(c.Old), field(c.New))
	}
}

// And lets pass what all of the predicates let pass. It asks them in their order,
// until one says no.
func And[T any](predicates ...Predicate[T]) Predicate[T] {
	return func(c informer.Change[T]) bool {
		for _, p := range predicates {
			if !p(c) {
				return false
			}
		}
		return true
	}
}

// Or lets pass what any of the predicates lets pass, and nothing if there is none.
// It asks them in their order, until one says yes.
func Or[T any](predicates ...Predicate[T]) Predicate[T] {
	return func(c informer.Change[T]) bool {
		for _, p := range predicates {
			if p(c) {
				return true
			}
		}
		return false
	}
}

// Not lets pass what the predicate does not.
func Not[T any](p Predicate[T]) Predicate[T] {
	return func(c informer.Change[T]) bool { return !p(c) }
}

// isUpdate reports whether a change has two states of one object. A resync has
// not: it tells of no change.
func isUpdate[T any](c informer.Change[T]) bool {
	return c.Type == informer.Updated && !c.Resync && sameUID(c.Old, c.New)
}

// sameUID reports whether two states are those of one object, and not of two that
// had the same name one after the other.
func sameUID[T any](a, b T) bool {
	before, ok := any(a).(metav1.Object)
	if !ok {
		return true
	}
	after, ok := any(b).(metav1.Object)
	return !ok || before.GetUID() == after.GetUID()
}
