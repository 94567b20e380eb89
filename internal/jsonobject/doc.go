// Package jsonobject decodes objects of any kind from JSON into maps, one at a
// time, as apimachinery does for unstructured objects, with less memory and time.
//
//	d := jsonobject.NewDecoder(jsonobject.Options{
//		DropManagedFields: true,
//		Fields:            []string{"metadata", "spec.replicas", "status.conditions.type"},
//	})
//	object, err := d.Decode(raw) // a map[string]any
//
// What comes out is what k8s.io/apimachinery/pkg/util/json makes of the same
// bytes: integers that fit are int64, other numbers float64; of several values
// under one key the last wins; what is not UTF-8 becomes U+FFFD; null is a nil map.
// The tests compare the two. Maps and slices have the size that they need.
//
// # How it works
//
// A decoder learns at which places values are in the objects of a collection,
// and which key comes after which (place.go). So most keys are compared with the
// one that is expected, and neither scanned, hashed nor allocated, and it is known
// for each place whether its values repeat. Keys that are data, such as those of a
// large ConfigMap, are noticed by their number, and not learnt.
//
// # Sharing
//
// Objects of one collection are much alike. A decoder takes strings, maps and
// slices from the bounded tables of package sharing when equal bytes come again
// (compound.go). A part is looked for before it is decoded: by comparing it with
// the one that was found last at its place, and then by its hash. Places whose
// values never repeat are left alone. So objects are read-only: a map that is
// written to may be that of others too. The map of the object itself is never
// shared.
//
// With [Options.Unshared] objects have nothing in common but strings and numbers,
// which nobody can write to.
//
// # Leaving out
//
// managedFields and what [Options.Fields] does not name is checked for its syntax,
// and not decoded (skip.go). A number that is out of range is no error there.
//
// # Bad input
//
// Malformed input gives an [*Error] with the offset; never a panic, nor an object,
// nor an effect on later ones. Objects and arrays may be nested 10,000 deep, as in
// encoding/json. No memory is allocated for what did not come: an object takes
// about fifty times its encoding at worst, if it is made of maps with one short
// key each, and a failed one leaves nothing.
package jsonobject
