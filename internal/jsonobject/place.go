package jsonobject

import (
	"slices"
	"unsafe"

	"heliograph.example/internal/sharing"
)

// How much is learnt.
const (
	maxPlaces = 1 << 12
	maxKeys   = 64 // of one place
)

// A place is where values are in the objects of a collection: under a key of the
// objects at another place, or in a list there.
type place struct {
	key  string
	next *place // under the key that came after this one when this came last
	mask *mask  // for the values

	texts sharing.Trial // of the strings, and of the keys if they are open
	parts sharing.Trial // of the objects and lists

	// recent is the hash of the object or list that was found here last.
	recent uint64

	first *place   // under the key that came first when an object came last
	keys  []*place // what is learnt of the keys of objects
	// open tells that the objects have too many keys to be learnt. Only those
	// with a mask are then in keys.
	open bool
	// rest is the place of the elements of a list, and under keys that are not
	// learnt.
	rest *place
}

// rest returns the place below p that has no key.
func (d *Decoder) rest(p *place) *place {
	if p.rest == nil {
		if p.rest = d.newPlace(); p.rest == nil {
			p.rest = d.nowhere
		}
	}
	return p.rest
}

// newPlace returns nil when enough was learnt.
func (d *Decoder) newPlace() *place {
	if d.places >= maxPlaces {
		return nil
	}
	d.places++
	return &place{}
}

// under returns the place under a key of objects at p, and the key as a string. m
// is the mask for the value, and narrow that of the object. learnt tells that the
// place belongs to that key alone. plain tells that the key is written as it is.
//
// All that is at one place has the same mask, but for nowhere: what is expected
// there is taken for wanted.
func (d *Decoder) under(p *place, key []byte, plain bool, m *mask, narrow bool) (at *place, text string, learnt bool) {
	if !p.open || m != nil {
		for _, k := range p.keys {
			if k.key == string(key) {
				return k, k.key, true
			}
		}
	}
	if !p.open && len(p.keys) >= maxKeys && m == nil && !narrow {
		p.open, p.first = true, nil
		p.keys = slices.DeleteFunc(p.keys, func(k *place) bool { k.next = nil; return k.mask == nil })
	}
	if plain && p != d.nowhere && (!p.open || m != nil) {
		if at = d.newPlace(); at != nil {
			at.key, at.mask = d.intern(key, nil), m
			p.keys = append(p.keys, at)
			return at, at.key, true
		}
	}
	text = d.intern(key, &p.texts)
	if m != nil || narrow {
		return d.nowhere, text, false
	}
	return d.rest(p), text, false
}

// forget makes the decoder learn anew.
func (d *Decoder) forget() {
	d.places = 0
	d.root, d.nowhere = nil, nil
}

// begin makes the first places.
func (d *Decoder) begin() {
	d.root = &place{mask: d.mask}
	d.nowhere = &place{open: true}
	d.nowhere.rest = d.nowhere
	d.places = 2
}

// learnt is about how many bytes the places take.
func (d *Decoder) learnt() int { return d.places * (int(unsafe.Sizeof(place{})) + 16) }
