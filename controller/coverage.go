package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"heliograph.example/informer"
)

// shows reports whether the informer will show that obj was written, as far as
// can be told from its scope: it covers obj, or the store holds a state of obj
// from which the write has led out of it, which is then shown as a delete.
func shows[T any](inf Mirror[T], obj metav1.Object) bool {
	scope := inf.Scope()
	if scope.Namespace != "" && scope.Namespace != obj.GetNamespace() {
		return false
	}
	if selects(scope, obj) {
		return true
	}
	_, held := inf.Store().Entry(keyOf(obj))
	return held
}

// selects reports whether the selectors of a scope may select obj. Fields other than
// the name and the namespace are not known here, and may.
func selects(scope informer.Scope, obj metav1.Object) bool {
	if scope.LabelSelector != "" {
		selector, err := labels.Parse(scope.LabelSelector)
		if err == nil && !selector.Matches(labels.Set(obj.GetLabels())) {
			return false
		}
	}
	if scope.FieldSelector == "" {
		return true
	}
	selector, err := fields.ParseSelector(scope.FieldSelector)
	if err != nil {
		return true
	}
	known := map[string]string{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	for _, r := range selector.Requirements() {
		value, ok := known[r.Field]
		if ok && (value == r.Value) == (r.Operator == selection.NotEquals) {
			return false
		}
	}
	return true
}
