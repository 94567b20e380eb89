package jsonobject

import (
	"hash/maphash"
	"io"
	"unsafe"

	"heliograph.example/internal/sharing"
)

// Options of a [Decoder]. The zero value decodes everything and shares what is
// equal.
type Options struct {
	// DropManagedFields leaves metadata.managedFields out of the object. They
	// are skipped, not decoded.
	DropManagedFields bool

	// Fields, if there are any, are all that is decoded: keys joined with dots,
	// such as "metadata", "spec.replicas" or "spec.containers.image". Lists are
	// gone through, and a path names the same key in each element. Elements
	// that are neither maps nor lists are left out where something below them
	// is named.
	//
	// Nothing is added: an object without metadata.name has no key.
	Fields []string

	// Unshared makes each object private, so that its owner may write to it.
	// Equal strings are still the same.
	Unshared bool

	// TableBytes bounds what the tables of the decoder hold, as an estimate.
	// Zero means 8 MiB.
	TableBytes int
}

const (
	// maxDepth is how deep objects and arrays may be nested: as in
	// encoding/json.
	maxDepth = 10000

	// maxShared is how deep a part may be that is looked for before it is
	// decoded. Each level looks at all its bytes.
	maxShared = 24

	// keptStack is how many values that wait for their object or list a
	// decoder has room for after an object that had more.
	keptStack = 1 << 10
	// keptScratch is the same for bytes of a string with escapes.
	keptScratch = 1 << 14

	// numbers is how many large or broken numbers are shared.
	numbers = 256
)

// A Decoder decodes the objects of one collection. It is used by one goroutine at
// a time. Decoders share nothing.
type Decoder struct {
	mask     *mask
	unshared bool

	seed    maphash.Seed
	tables  sharing.Tables[any, any] // strings, and maps and slices
	numbers []any
	// emptyObject and emptyList are shared too.
	emptyObject, emptyList any

	// What is learnt. nowhere is the place of what is no longer learnt.
	root, nowhere *place
	places        int

	// State of the object that is being decoded.
	raw     []byte
	err     *Error
	members []member // of objects that are not complete
	values  []any    // of lists that are not complete
	scratch []byte
	spent   int // bytes allocated, about

	stats sharing.Stats
}

// NewDecoder returns a decoder. Without objects it takes a few hundred bytes.
func NewDecoder(o Options) *Decoder {
	return &Decoder{
		mask: newMask(o), unshared: o.Unshared, seed: maphash.MakeSeed(),
		tables: sharing.Tables[any, any]{Limit: o.TableBytes},
	}
}

// Decode returns the object that raw encodes, or nil for null. It keeps nothing of
// raw, which may be overwritten. The object is read-only unless the decoder is
// unshared, but for its outermost map: what is below belongs to other objects too.
//
// The error is an [*Error]. After it the decoder can be used as before.
func (d *Decoder) Decode(raw []byte) (map[string]any, error) {
	if d.root == nil {
		d.begin()
	}
	d.raw, d.err = raw, nil
	object, ok := d.document()
	d.raw = nil
	clear(d.members)
	clear(d.values)
	d.members, d.values = d.members[:0], d.values[:0]
	if cap(d.members) > keptStack || cap(d.values) > keptStack {
		d.members, d.values = nil, nil
	}
	if cap(d.scratch) > keptScratch {
		d.scratch = nil
	}
	if !ok {
		return nil, d.err
	}
	if d.stats.Objects++; d.stats.Objects%sharing.SweepEvery == 0 {
		d.tables.Sweep()
		if d.places >= maxPlaces {
			d.forget()
		}
	}
	return object, nil
}

// document decodes one value and what may be around it.
func (d *Decoder) document() (object map[string]any, ok bool) {
	i := d.space(0)
	if i >= len(d.raw) {
		return nil, d.fail(i, ErrSyntax, "an object") >= 0
	}
	switch d.raw[i] {
	case '{':
		var v any
		if v, i = d.object(i, 0, d.root, d.mask); i < 0 {
			return nil, false
		}
		if object = v.(map[string]any); len(object) == 0 {
			object = map[string]any{} // that of nobody else
		}
	case 'n':
		if i = d.literal(i, "null"); i < 0 {
			return nil, false
		}
	default:
		return nil, d.fail(i, ErrNotObject, "") >= 0
	}
	if i = d.space(i); i < len(d.raw) {
		return nil, d.fail(i, ErrSyntax, "the end") >= 0
	}
	return object, true
}

// Stats may be called where Decode may.
func (d *Decoder) Stats() sharing.Stats {
	s := d.stats
	s.Strings, s.Parts = d.tables.Strings.Len(), d.tables.Parts.Len()
	s.Bytes = d.tables.Held() + d.learnt() + cap(d.numbers)*int(unsafe.Sizeof(any(nil)))
	return s
}

// Sweep forgets what has not come again since the last time. Decode does so every
// some ten thousand objects; call it when fewer come for a long time. A decoder that
// is left with nothing takes as little as a new one. It may be called where Decode
// may.
func (d *Decoder) Sweep() {
	if d.tables.Sweep(); d.tables.Empty() {
		d.forget()
		d.numbers, d.members, d.values, d.scratch = nil, nil, nil, nil
	}
}

// bound keeps the tables within their budget.
func (d *Decoder) bound() {
	if d.tables.Bound() {
		d.stats.Evictions++
	}
}

// fail notes what is wrong at byte i. The result, like that of all that decodes,
// stands for the end of a value that has none.
func (d *Decoder) fail(i int, err error, want string) int {
	if d.err == nil {
		if err == ErrSyntax && i >= len(d.raw) {
			i, err = len(d.raw), io.ErrUnexpectedEOF
		}
		d.err = &Error{Offset: i, Err: err, Want: want}
	}
	return -1
}
