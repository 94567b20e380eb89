package reflector

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"heliograph.example/internal/jsonobject"
	"heliograph.example/internal/protobuf"
	"heliograph.example/internal/sharing"
)

// forgetAfter is how often a decoder forgets what has not come since the last
// time, if its watch is quiet.
const forgetAfter = 10 * time.Minute

// A sharedDecoder decodes the objects of one source with a decoder of ours. What
// it has decoded it may give to other objects again, so all readers of the source
// use the same: List, Watch, and Get while a watch goes on. They take turns, object
// by object.
type sharedDecoder[T any] struct {
	// make returns the decoder, or errors.ErrUnsupported if there is none for T.
	make func() (decoder[T], error)

	mu          sync.Mutex
	decoder     decoder[T] // nil before the first object
	unsupported bool
	swept       time.Time
}

// decoder is what the packages that decode have in common. It is used by one
// goroutine at a time.
type decoder[T any] interface {
	decode(raw []byte) (T, error)
	// decodeAgainst decodes an object that may have parts of old.
	decodeAgainst(raw []byte, old T) (T, error)
	Sweep()
	stats() sharing.Stats
}

// builtInDecoder decodes one built-in type from protobuf.
type builtInDecoder[T any] struct{ *protobuf.Decoder }

func (d builtInDecoder[T]) decode(raw []byte) (obj T, err error) {
	decoded, err := d.Decode(raw)
	if err != nil {
		return obj, err
	}
	return decoded.(T), nil
}

func (d builtInDecoder[T]) decodeAgainst(raw []byte, old T) (obj T, err error) {
	decoded, err := d.DecodeAgainst(raw, old)
	if err != nil {
		return obj, err
	}
	return decoded.(T), nil
}

func (d builtInDecoder[T]) stats() sharing.Stats { return d.Stats().Stats }

// newBuiltInDecoder returns a decoder of objects of a shape, whose fields are known
// to exist.
func newBuiltInDecoder[T any](object reflect.Type, shape Shape) (*sharedDecoder[T], error) {
	o := protobuf.Options{DropManagedFields: shape.DropManagedFields, Unshared: shape.Unshared}
	if len(shape.Fields) > 0 {
		// Kind and version are in the envelope.
		o.Fields = slices.Concat(identity, slices.DeleteFunc(slices.Clone(shape.Fields), func(path string) bool {
			return slices.Contains(typeMeta, path)
		}))
	}
	d := &sharedDecoder[T]{make: func() (decoder[T], error) {
		made, err := protobuf.NewDecoder(object, o)
		if errors.Is(err, protobuf.ErrUnsupported) {
			err = errors.ErrUnsupported
		}
		return builtInDecoder[T]{made}, err
	}}
	if len(o.Fields) == 0 {
		return d, nil
	}
	// Not every field of JSON is on the wire.
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("%w fields: %w", ErrInvalid, err)
	}
	return d, nil
}

// mapDecoder decodes unstructured objects from JSON.
type mapDecoder[T any] struct{ *jsonobject.Decoder }

func (d mapDecoder[T]) decode(raw []byte) (obj T, err error) {
	object, err := d.Decode(raw)
	return any(&unstructured.Unstructured{Object: object}).(T), err
}

// decodeAgainst makes no use of the old object: it would have to be gone through map
// by map.
func (d mapDecoder[T]) decodeAgainst(raw []byte, _ T) (T, error) { return d.decode(raw) }

func (d mapDecoder[T]) stats() sharing.Stats { return d.Stats() }

// newMapDecoder returns a decoder of unstructured objects of a shape.
func newMapDecoder[T any](shape Shape) *sharedDecoder[T] {
	o := jsonobject.Options{DropManagedFields: shape.DropManagedFields, Unshared: shape.Unshared}
	if len(shape.Fields) > 0 {
		o.Fields = slices.Concat(identity, typeMeta, shape.Fields)
	}
	return &sharedDecoder[T]{make: func() (decoder[T], error) {
		return mapDecoder[T]{jsonobject.NewDecoder(o)}, nil
	}}
}

// open makes the decoder. The caller holds mu, or is the only one who has d.
func (d *sharedDecoder[T]) open() error {
	if d.decoder != nil || d.unsupported {
		return nil
	}
	made, err := d.make()
	if errors.Is(err, errors.ErrUnsupported) {
		d.unsupported = true
		return nil
	}
	if err != nil {
		return err
	}
	d.decoder, d.swept = made, time.Now()
	return nil
}

// decode decodes raw, unless the type has no decoder.
func (d *sharedDecoder[T]) decode(raw []byte) (obj T, supported bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil || d.unsupported {
		return obj, err != nil, err
	}
	obj, err = d.decoder.decode(raw)
	return obj, true, err
}

// decodeAgainst decodes raw, of which an older state is known. It returns false if the
// type has no decoder.
func (d *sharedDecoder[T]) decodeAgainst(raw []byte, old T) (obj T, supported bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil || d.unsupported {
		return obj, err != nil, err
	}
	obj, err = d.decoder.decodeAgainst(raw, old)
	return obj, true, err
}

// always decodes what is known to have a decoder.
func (d *sharedDecoder[T]) always(raw []byte) (T, error) {
	obj, _, err := d.decode(raw)
	return obj, err
}

// quiet is called when no object is at hand: what an idle collection does not need
// is forgotten in time.
func (d *sharedDecoder[T]) quiet() {
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
func (d *sharedDecoder[T]) stats() SharingStats {
	if d == nil {
		return SharingStats{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decoder == nil {
		return SharingStats{}
	}
	s := d.decoder.stats()
	return SharingStats{Lookups: s.StringLookups + s.PartLookups, Hits: s.StringHits + s.PartHits, Bytes: s.Bytes}
}

// against is or for an object of which an older state is known.
func (d *sharedDecoder[T]) against(other decode[T]) func(raw []byte, old T) (T, error) {
	return func(raw []byte, old T) (T, error) {
		if obj, supported, err := d.decodeAgainst(raw, old); supported {
			return obj, err
		}
		return other(raw)
	}
}

// or decodes what has no decoder with another, and cuts it.
func (d *sharedDecoder[T]) or(stock decode[T], cut *cut[T]) decode[T] {
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
