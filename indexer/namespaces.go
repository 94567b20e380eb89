package indexer

import (
	"hash/maphash"
	"strings"
)

// namespaces has the texts of the namespaces that were met of late, one for each hash.
// Keys that come from objects have a text each, somewhere in memory, and who compares
// a key would wait for it; a text that many entries share is at hand. Texts are copies,
// so that no entry keeps what belongs to the object of another one. Only writers look
// at it. The zero value is empty.
type namespaces struct {
	// met is nil before the first namespace: many stores have none.
	met *[sharedNamespaces]string
}

const sharedNamespaces = 64

// share returns a text that is equal to the namespace.
func (n *namespaces) share(seed maphash.Seed, namespace string) string {
	if namespace == "" {
		return ""
	}
	if n.met == nil {
		n.met = new([sharedNamespaces]string)
	}
	at := &n.met[maphash.String(seed, namespace)%sharedNamespaces]
	if *at != namespace {
		*at = strings.Clone(namespace)
	}
	return *at
}
