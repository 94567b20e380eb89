package reflector

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"heliograph.example/internal/protobuf"
)

// forgetAfter is how often a decoder forgets what has not come since the last
// time, if its watch is quiet.
const forgetAfter = 10 * time.Minute

// A builtInDecoder decodes one built-in type from protobuf, for a source. What it
// has decoded it may give to other objects again, so all readers of the source use
// the same: List, Watch, and Get while a watch goes on. They take turns, object by
// object.
type builtInDecoder[T any] struct {
	options protobuf.Options

	mu          sync.Mutex
	decoder     *protobuf.Decoder // nil before the first object
	unsupported bool
	swept       time.Time
}

// newBuiltInDecoder returns a decoder of objects of a shape, whose fields are known
// to exist.
func newBuiltInDecoder[T any](shape Shape) (*builtInDecoder[T], error) {
	o := protobuf.Options{DropManagedFields: shape.DropManagedFields, Unshared: shape.Unshared}
	if len(shape.Fields) > 0 {
		// Kind and version are in the envelope.
		o.Fields = slices.Concat(identity, slices.DeleteFunc(slices.Clone(shape.Fields), func(path string) bool {
			return slices.Contains(typeMeta, path)
		}))
	}
	d := &builtInDecoder[T]{options: o}
	if len(o.Fields) == 0 {
		return d, nil
	}
	// Not every field of JSON is on the wire.
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("%w fields: %w", ErrInvalid, err)
	}
	return d, nil
}

// open makes the decoder. The caller holds mu, or is the only one who has d.
func (d *builtInDecoder[T]) open() error {
	if d.decoder != nil || d.unsupported {
		return nil
	}
	decoder, err := protobuf.NewDecoder(reflect.TypeFor[T](), d.options)
	if errors.Is(err, protobuf.ErrUnsupported) {
		d.unsupported = true
		return nil
	}
	d.decoder, d.swept = decoder, time.Now()
	return err
}

// decode decodes raw, unless the type has no decoder.
func (d *builtInDecoder[T]) decode(raw []byte) (obj T, supported bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil || d.unsupported {
		return obj, err != nil, err
	}
	decoded, err := d.decoder.Decode(raw)
	if err != nil {
		return obj, true, err
	}
	return decoded.(T), true, nil
}

// quiet is called when no object is at hand: what an idle collection does not need
// is forgotten in time.
func (d *builtInDecoder[T]) quiet() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decoder != nil && time.Since(d.swept) >= forgetAfter {
		d.decoder.Sweep()
		d.swept = time.Now()
	}
}

// stats are zero where nothing is decoded so.
func (d *builtInDecoder[T]) stats() SharingStats {
	if d == nil {
		return SharingStats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decoder == nil {
		return SharingStats{}
	}
	s := d.decoder.Stats()
	return SharingStats{Lookups: s.StringLookups + s.PartLookups, Hits: s.StringHits + s.PartHits, Bytes: s.Bytes}
}

// or decodes what has no decoder with another, and cuts it.
func (d *builtInDecoder[T]) or(stock decode[T], cut *cut[T]) decode[T] {
	return func(raw []byte) (T, error) {
		obj, supported, err := d.decode(raw)
		if supported {
			return obj, err
		}
		if obj, err = stock(raw); err != nil {
			return obj, err
		}
		return cut.of(obj, true), nil
	}
}
