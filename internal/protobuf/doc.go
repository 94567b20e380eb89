// Package protobuf decodes the built-in types of Kubernetes from their wire
// format, one object at a time, with fewer allocations than the code generated
// for them.
//
//	pods, err := protobuf.NewDecoder(reflect.TypeFor[*corev1.Pod](), protobuf.Options{
//		DropManagedFields: true,
//		Fields:            []string{"metadata", "spec.nodeName", "status.phase"},
//	})
//	if errors.Is(err, protobuf.ErrUnsupported) {
//		// use (*corev1.Pod).Unmarshal
//	}
//	o, err := pods.Decode(raw) // o is a *corev1.Pod
//
// raw is the bare message, without the prefix "k8s\x00" and the envelope
// [runtime.Unknown]. Kind and version are in the envelope only, so objects have
// none.
//
// # How it works
//
// The struct tags of a Go type are read once and become a plan: what to do
// with each field number, and where in the struct (compile.go, plan.go). The
// decoder follows the plan (message.go, repeated.go, maps.go). The few types
// whose fields are not what is on the wire have code of their own
// (special.go). What is not in [Options.Fields] is not in the plan either, and
// its bytes are skipped.
//
// Only types of k8s.io/api and k8s.io/apimachinery have plans: these are
// compared with their own Unmarshal in the tests, every kind that client-go
// knows, field by field and encoded again. For all others [NewDecoder]
// returns [ErrUnsupported].
//
// apimachinery can hold the text of managedFields in another way, with the build
// tag fieldsv1string. The decoder sets it through its methods, and the tests pass
// with both:
//
//	go test -tags fieldsv1string heliograph.example/internal/protobuf
//
// This is no part of make test: the tag compiles all of k8s.io/api once more.
//
// A plan takes 70 to 90 kB for a kind that contains a Pod, and 700 kB for the nine
// of them together, once per program. They have no parts in common: a field knows
// the place of its trial and its list in the decoder, and places are counted
// through the whole plan.
//
// # Sharing
//
// Objects of one collection are much alike. A decoder keeps bounded tables of
// the strings, messages, lists and maps that it made, and takes them from
// there when equal bytes come again (package sharing). So two Pods of a ReplicaSet
// have one slice of containers, and nobody may write to either. A shared slice
// has no spare capacity. A Quantity that its own methods write to, when they
// keep a result or add in place, is not shared. Fields whose values never
// repeat are noticed and left alone.
//
// Most of a new state of an object is that of the state before, and often of no other
// object. [Decoder.DecodeAgainst] takes from an older state what is the same, and
// makes the rest.
//
// The tables grow with what is decoded, up to [Options.TableBytes], and forget
// what has not come again within some ten thousand objects. With
// [Options.Unshared] objects have nothing in common but strings, and belong to
// whoever asked for them.
//
// # Bad input
//
// Malformed input gives an [*Error] with the field and the offset; never a
// panic, nor an object, nor an effect on later ones. Where generated code and
// this package disagree:
//
//   - A string of a map entry, or a number of a packed list, that goes on after
//     the end of its entry or list is refused. Generated code reads it and then
//     reads part of it again as something else.
//   - In a map entry with several values, all but the last are not looked at.
//   - Fields that are skipped are not looked at either, beyond their length.
//   - Quantities of more than 64 bytes, or with an exponent of more than three
//     digits, are refused: apimachinery takes minutes for some.
//   - Messages may be nested 100 deep.
//   - An object may take 64 times the bytes of its encoding and a megabyte.
//
// Like generated code it accepts strings that are not UTF-8, drops the excess
// bits of numbers, merges a message that comes in pieces, and takes the last
// of several values.
//
// [runtime.Unknown]: https://pkg.go.dev/k8s.io/apimachinery/pkg/runtime#Unknown
package protobuf
