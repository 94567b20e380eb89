package cache

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// nameOf turns a key of client-go's into one of our stores. Any string is a key
// there, and no two of them become one here: a key is cut at its first slash, and
// one that has none, or begins with it, is a name as a whole.
func nameOf(key string) types.NamespacedName {
	if namespace, name, cut := strings.Cut(key, "/"); cut && namespace != "" {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Name: key}
}

// keyOf is the reverse of nameOf.
func keyOf(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.Namespace + "/" + name.Name
}
