package wire

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List splits the body of a list into its items.
type List struct {
	w        window
	encoding Encoding
	shape    shape
	format   interface {
		start() error
		next() (Item, error)
	}
	err error
}

// shape is what a list has beside its items.
type shape struct {
	names names
	// items tells that there was a field of items.
	items bool
	// rest has all other fields of the list.
	rest []byte
}

// NewList returns a List that reads from body. It allocates its window with the
// first byte it wants, and does not close body.
func NewList(body io.Reader) *List {
	return &List{w: window{r: body, small: listWindow}}
}

// Next returns the next item, and io.EOF after the last one: then all of the
// body was read. Any other error is of the whole list: a *SyntaxError, an
// io.ErrUnexpectedEOF if the body ends too early, or what its reader said. After
// an error it returns the same again.
func (l *List) Next() (Item, error) {
	if l.err != nil {
		return Item{}, l.err
	}
	if l.format == nil {
		l.err = l.sniff()
	}
	var item Item
	if l.err == nil {
		item, l.err = l.format.next()
	}
	if l.err != nil {
		return Item{}, l.err
	}
	return item, nil
}

// sniff finds out the encoding.
func (l *List) sniff() error {
	if err := l.w.need(1); err != nil {
		return l.w.inside(err)
	}
	switch b := l.w.have()[0]; {
	case b == magic[0]:
		l.encoding, l.format = Protobuf, &protoList{w: &l.w, shape: &l.shape}
	case beginsJSON(b):
		l.encoding, l.format = JSON, &jsonList{w: &l.w, shape: &l.shape}
	default:
		return stranger(&l.w)
	}
	return l.format.start()
}

// stranger is the error for a body in an encoding that is not known.
func stranger(w *window) error {
	_ = w.need(16) // fewer will do
	b := w.have()
	return syntax(w.off, "neither protobuf nor JSON: it begins with %q", b[:min(len(b), 16)])
}

// Encoding tells how the list travels. It is known from the first call of Next.
func (l *List) Encoding() Encoding { return l.encoding }

// Kind returns the version and kind of the list, as far as they were read. In
// protobuf they stand before the items, in JSON they may stand behind.
func (l *List) Kind() schema.GroupVersionKind { return l.shape.names.known }

// HasItems reports whether there was a field of items yet. In protobuf a list
// without items has none.
func (l *List) HasItems() bool { return l.shape.items }

// Rest returns the list without its items, in its encoding and without an
// envelope: after io.EOF it has the list's metadata, or all of a status that the
// server sent in place of a list.
func (l *List) Rest() []byte { return l.shape.rest }
