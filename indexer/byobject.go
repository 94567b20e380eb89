package indexer

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		labels:  func(obj T) map[string]string { return obj.GetLabels() },
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

// listsLabels reports whether postings are those of some labels. It does not make the
// values for that. A key that is none makes it say no: two labels could have one value.
func listsLabels[T any](postings []posting[T], labels map[string]string) bool {
	if len(postings) != len(labels) {
		return false
	}
	for key, value := range labels {
		if strings.Contains(key, "=") || !listsLabel(postings, key, value) {
			return false
		}
	}
	return true
}

func listsLabel[T any](postings []posting[T], key, value string) bool {
	for i := range postings {
		has := postings[i].bucket.value
		if len(has) == len(key)+1+len(value) && has[:len(key)] == key && has[len(key)] == '=' && has[len(key)+1:] == value {
			return true
		}
	}
	return false
}
