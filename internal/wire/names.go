package wire

import "k8s.io/apimachinery/pkg/runtime/schema"

// names keeps the version and kind of the last object: those of a stream are
// nearly all the same, and need not be made anew.
type names struct {
	apiVersion, kind string
	// known is the two as a GroupVersionKind.
	known schema.GroupVersionKind
}

// set takes what an object says. Empty slices leave nothing behind.
func (n *names) set(apiVersion, kind []byte) {
	if n.apiVersion == string(apiVersion) && n.kind == string(kind) {
		return
	}
	n.apiVersion, n.kind = string(apiVersion), string(kind)
	n.known = schema.FromAPIVersionAndKind(n.apiVersion, n.kind)
}

// protobuf reads a runtime.TypeMeta.
func (n *names) protobuf(meta []byte, at int64) error {
	var apiVersion, kind []byte
	err := fields(meta, at, func(f field) (err error) {
		switch f.num {
		case 1:
			apiVersion, err = bytesOf(f, at, "apiVersion")
		case 2:
			kind, err = bytesOf(f, at, "kind")
		}
		return err
	})
	if err == nil {
		n.set(apiVersion, kind)
	}
	return err
}
