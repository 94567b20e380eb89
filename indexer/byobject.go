package indexer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NamespaceIndex is the usual name of an index by [ByNamespace].
const NamespaceIndex = "namespace"

// ByNamespace returns an [Index] that lists each object under its namespace, and
// objects that have none under the empty string.
func ByNamespace[T metav1.Object]() Index[T] {
	return Index[T]{Values: func(obj T, values []string) ([]string, error) {
		return append(values, obj.GetNamespace()), nil
	}}
}

// LabelIndex is the usual name of an index by [ByLabels].
const LabelIndex = "labels"

// ByLabels returns an [Index] that lists each object under each of its labels, as
// "key=value", in order. With it [Labels] finds objects without comparing all of
// them. It costs 24 bytes for each label of each object, and some 150 for each
// distinct one.
func ByLabels[T metav1.Object]() Index[T] {
	return Index[T]{
		Ordered: true,
		labels:  true,
		Values: func(obj T, values []string) ([]string, error) {
			for key, value := range obj.GetLabels() {
				values = append(values, labelValue(key, value))
			}
			return values, nil
		},
	}
}

// labelValue is the value in a label index. A label key has no "=".
func labelValue(key, value string) string { return key + "=" + value }
