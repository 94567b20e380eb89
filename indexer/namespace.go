package indexer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NamespaceIndex is the usual name of an index by [ByNamespace].
const NamespaceIndex = "namespace"

// ByNamespace is an [IndexFunc] that lists each object under its namespace, and
// objects that have none under the empty string.
func ByNamespace[T metav1.Object](obj T) ([]string, error) {
	return []string{obj.GetNamespace()}, nil
}
