// Package wire splits what a Kubernetes API server sends into objects, in place:
// a list into its items, a watch into its frames. It decodes no object; it hands
// out the bytes of one after the other.
//
//	list := wire.NewList(body)
//	for {
//		item, err := list.Next()
//		if err == io.EOF {
//			break // list.Kind and list.Rest are complete
//		}
//		...
//		decode(list.Encoding(), item.Raw)
//	}
//
// A [List] and [Frames] know both encodings, and tell them apart by the first
// byte: Kubernetes protobuf begins with the bytes "k8s" and a zero (see
// k8s.io/apimachinery/pkg/runtime/serializer/protobuf), a frame of a protobuf
// watch with the high byte of its length, which is zero for all that is of use,
// and JSON with a brace.
//
// # Memory
//
// The bytes of an object are those of the window through which the body is read.
// They are valid until the next call. The window begins small, grows to the
// largest object that came, no faster than bytes arrive, and is small again when
// a giant has passed. A length that a body claims allocates nothing.
//
// # What is wrong harms little
//
// An object that is too large ([MaxItem]) or too deep ([MaxDepth]) comes with an
// error and with its beginning, and the next one follows. So does an object whose
// envelope cannot be read, as long as its end is known. [Identify] reads from the
// raw bytes who an object is, as far as they go.
//
// Where the end of an object is not known, nothing after it can be: a
// [SyntaxError] names the offset. A body that ends too early is an
// io.ErrUnexpectedEOF with the offset, and what the reader of the body says is
// passed on.
//
// Nothing here is safe for use by several goroutines at once, and nothing starts
// one.
package wire
