package protobuf

import (
	"hash/maphash"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/internal/sharing"
)

// Options of a [Decoder]. The zero value decodes everything and shares what is
// equal.
type Options struct {
	// DropManagedFields leaves metadata.managedFields out, wherever an
	// ObjectMeta occurs. The bytes are skipped, not decoded.
	DropManagedFields bool

	// Fields are the only fields to decode, by their JSON names joined with
	// dots, such as "metadata", "spec.nodeName" or "spec.containers.image".
	// Lists are gone through, and a path names the same field of each
	// element; maps, quantities and times are decoded as a whole. Everything
	// else stays zero and its bytes are skipped. None means everything.
	//
	// Nothing is added: an object without metadata.name has no key.
	Fields []string

	// Unshared makes each object private, as the stock decoder does, so that
	// its owner may write to it. Equal strings are still the same.
	Unshared bool

	// TableBytes bounds what the tables of the decoder hold, as an estimate.
	// Zero means 8 MiB. Less than a few hundred bytes is of no use.
	TableBytes int
}

const (
	// maxDepth is how deep messages may be nested. The deepest type of
	// Kubernetes has about a dozen.
	maxDepth = 100

	// An object may take as many bytes as expansion times its encoding, and
	// slack. Two bytes on the wire can be an element of a kilobyte; a real
	// object takes three or four times its encoding.
	expansion = 64
	slack     = 1 << 20
)

const (
	// recentStrings is how many strings are found without a hash, a power of two,
	// and recentSpread how far apart those of two fields are.
	recentStrings = 256
	recentSpread  = 11
)

// A Decoder decodes the objects of one type. It is used by one goroutine at a
// time. Decoders share nothing but what is immutable.
type Decoder struct {
	plan     *plan
	unshared bool

	seed       maphash.Seed
	tables     sharing.Tables[struct{}, part]
	recent     *[recentStrings]string
	lists      []reflect.Value // an empty variable for each field with messages
	scratch    []reflect.Value // for each of these, a zeroed slice to decode into; see against.go
	spares     []unsafe.Pointer
	quantities []quantityEntry
	times      []*metav1.Time
	int32s     []*int32
	int64s     []*int64
	bools      *[2]bool // false, true
	trials     []sharing.Trial

	// State of the object that is being decoded.
	old     unsafe.Pointer // an object that it may be much like, or nil
	sharing bool           // values may come from and go to the tables
	fragile bool           // the value is one that reading it writes to
	spent   int            // bytes allocated, about
	most    int            // bytes that may be

	stats Stats
}

// Stats tell what a decoder did and what it holds. Parts are messages, lists and
// maps.
type Stats struct {
	sharing.Stats
	// InPieces is how many objects were decoded again without sharing, because
	// a field came in pieces.
	InPieces uint64
}

// NewDecoder returns a decoder of objects of type t, a pointer to a struct such
// as *v1.Pod. The error wraps [ErrUnsupported] if the type is not one that the
// Kubernetes project generates, and is a [*FieldError] if a path of o.Fields
// names no field.
//
// A decoder without objects takes a few hundred bytes: the plan of its type is
// made once per program, and its tables grow with what is decoded.
func NewDecoder(t reflect.Type, o Options) (*Decoder, error) {
	p, err := planFor(t, o)
	if err != nil {
		return nil, err
	}
	return newDecoder(p, o), nil
}

func newDecoder(p *plan, o Options) *Decoder {
	return &Decoder{plan: p, unshared: o.Unshared, seed: maphash.MakeSeed(), tables: sharing.Tables[struct{}, part]{Limit: o.TableBytes}}
}

// Decode returns the object that raw encodes, a pointer of the type that
// [NewDecoder] was given. It keeps nothing of raw, which may be overwritten.
// The object is read-only unless the decoder is unshared: parts of it belong
// to other objects too.
//
// The error is an [*Error]. After it the decoder can be used as before.
func (d *Decoder) Decode(raw []byte) (any, error) {
	if d.trials == nil {
		d.trials, d.lists = make([]sharing.Trial, d.plan.ids), make([]reflect.Value, d.plan.lists)
	}
	o := reflect.New(d.plan.typ)
	d.sharing = !d.unshared
	err := d.object(o.UnsafePointer(), raw)
	if err == inPieces {
		// The later piece would be merged into a value that others hold.
		d.stats.InPieces++
		d.old = nil
		o = reflect.New(d.plan.typ)
		d.sharing = false
		err = d.object(o.UnsafePointer(), raw)
	}
	if err != nil {
		err.Type = o.Type()
		return nil, err
	}
	if d.stats.Objects++; d.stats.Objects%sharing.SweepEvery == 0 {
		d.sweep()
	}
	return o.Interface(), nil
}

func (d *Decoder) object(p unsafe.Pointer, raw []byte) *Error {
	d.fragile, d.spent, d.most = false, 0, expansion*len(raw)+slack
	return d.message(d.plan.root, p, d.old, raw, 0)
}

// Stats may be called where Decode may.
func (d *Decoder) Stats() Stats {
	s := d.stats
	s.Strings, s.Parts = d.tables.Strings.Len(), d.tables.Parts.Len()
	s.Bytes = d.tables.Held() + len(d.lists)*int(unsafe.Sizeof(reflect.Value{})) + len(d.trials)*int(unsafe.Sizeof(sharing.Trial{})) + len(d.quantities)*int(unsafe.Sizeof(quantityEntry{}))
	return s
}

func (d *Decoder) hash(b []byte) uint64 { return maphash.Bytes(d.seed, b) }

// Sweep forgets what has not come again since the last time. Decode does so every
// some ten thousand objects; call it when fewer come for a long time. A decoder that
// is left with nothing takes as little as a new one. It may be called where Decode
// may.
func (d *Decoder) Sweep() {
	if d.sweep(); d.tables.Empty() {
		d.trials, d.lists, d.quantities, d.times = nil, nil, nil, nil
		d.scratch, d.spares = nil, nil
	}
}

// sweep sweeps the tables. What is found without them is forgotten, so that they
// are asked for it again before the next time.
func (d *Decoder) sweep() {
	d.tables.Sweep()
	d.recent = nil
}

// bound keeps the tables within their budget.
func (d *Decoder) bound() {
	if d.tables.Bound() {
		d.stats.Evictions++
		d.recent = nil
	}
}

// string returns b as a string, the one made before if the values of the field
// with these statistics are worth looking up.
func (d *Decoder) string(id int, b []byte) string {
	if len(b) == 0 {
		return ""
	}
	t := &d.trials[id]
	if len(b) > sharing.MaxString || !t.Awake() {
		d.spent += len(b)
		return string(b)
	}
	d.stats.StringLookups++
	if d.recent == nil {
		d.recent = new([recentStrings]string)
	}
	// A field has few values at a time, most often of different lengths.
	recent := &d.recent[(uint(id)*recentSpread+uint(len(b))+uint(b[len(b)-1]))%recentStrings]
	if *recent == string(b) {
		t.Hit()
		d.stats.StringHits++
		return *recent
	}
	hash := uint32(d.hash(b))
	if s := d.tables.Strings.Find(hash, b); s != nil {
		t.Hit()
		d.stats.StringHits++
		*recent = s.Text
		return s.Text
	}
	t.Miss(4)
	s := string(b)
	d.spent += len(b)
	d.tables.Strings.Put(hash, s, struct{}{})
	d.bound()
	return s
}

// A part is a decoded value that many objects may hold.
type part struct {
	value unsafe.Pointer
	count int32 // elements, if it is a slice
}

// A lookup is what is remembered of a value between looking for it and having
// decoded it.
type lookup struct {
	hash    uint64
	wanted  bool // to be put into the table
	spent   int
	fragile bool
}

// find returns the shared value of f for the encoding key. If there is none,
// the caller decodes the value, and calls keep.
func (d *Decoder) find(f *field, key []byte) (*part, lookup) {
	l := lookup{spent: d.spent, fragile: d.fragile}
	t := &d.trials[f.id]
	if len(key) > sharing.MaxPart || !t.Awake() {
		return nil, l
	}
	d.stats.PartLookups++
	l.hash = d.hash(key) ^ uint64(f.kind)*0x9E3779B97F4A7C15
	if p := d.tables.Parts.Find(l.hash, f.kind, key); p != nil {
		t.Hit()
		d.stats.PartHits++
		return &p.Value, l
	}
	l.wanted = t.Mostly() || d.tables.Parts.Again(l.hash)
	t.Miss(8)
	d.fragile = false
	return nil, l
}

// keep puts a decoded value into the table, unless it is fragile. count is the
// number of its elements if it is a slice.
func (d *Decoder) keep(l lookup, f *field, key []byte, value unsafe.Pointer, count int) {
	if l.wanted && !d.fragile {
		size := len(key) + d.spent - l.spent
		d.tables.Parts.Put(sharing.Part[part]{
			Hash: l.hash, Key: string(key), Kind: f.kind, Size: size,
			Value: part{value: value, count: int32(count)},
		})
		d.bound()
	}
	d.fragile = d.fragile || l.fragile
}
