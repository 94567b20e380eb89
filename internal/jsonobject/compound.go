package jsonobject

import (
	"hash/maphash"

	"heliograph.example/internal/sharing"
)

// A member is a key with its value.
type member struct {
	key   string
	value any
}

// gone is in place of a value of which nothing is wanted.
type gone struct{}

// What maps and slices take in memory, about.
const (
	mapBytes    = 48
	smallMap    = 8 // entries in one group
	groupBytes  = 288
	entryBytes  = 48 // of larger maps
	sliceBytes  = 24
	memberBytes = 16 // of a slice, or the header of a string
)

// value decodes the value at byte i, at place p, and returns the byte after it, or
// -1. The value is gone{} if nothing of it is wanted.
func (d *Decoder) value(i, depth int, p *place, m *mask) (any, int) {
	if i >= len(d.raw) {
		return nil, d.fail(i, ErrSyntax, "a value")
	}
	c := d.raw[i]
	switch {
	case c == '{' || c == '[':
		return d.compound(i, depth, p, m)
	case m.narrow():
		return gone{}, d.skip(i, depth)
	case c == '"':
		return d.text(i, p)
	case c == '-' || c >= '0' && c <= '9':
		return d.number(i)
	case c == 't':
		return true, d.literal(i, "true")
	case c == 'f':
		return false, d.literal(i, "false")
	case c == 'n':
		return nil, d.literal(i, "null")
	}
	return nil, d.fail(i, ErrSyntax, "a value")
}

// compound decodes an object or a list, unless an equal one is at hand.
func (d *Decoder) compound(i, depth int, p *place, m *mask) (any, int) {
	if d.unshared || depth > maxShared || !p.parts.Awake() {
		return d.build(i, depth, p, m)
	}
	d.stats.PartLookups++
	kind := uint32(wholly)
	if m != nil {
		kind = m.kind
	}
	if part := d.tables.Parts.Begins(p.recent, kind, d.raw[i:]); part != nil {
		return d.found(part, i, p)
	}
	end := extent(d.raw, i, sharing.MaxPart)
	if end < 0 {
		p.parts.Miss(8)
		return d.build(i, depth, p, m)
	}
	raw := d.raw[i:end]
	hash := maphash.Bytes(d.seed, raw) ^ uint64(kind)*0x9E3779B97F4A7C15
	if part := d.tables.Parts.Find(hash, kind, raw); part != nil {
		return d.found(part, i, p)
	}
	wanted := p.parts.Mostly() || d.tables.Parts.Again(hash)
	p.parts.Miss(8)
	spent := d.spent
	v, j := d.build(i, depth, p, m)
	if j == end && wanted {
		p.recent = hash
		d.tables.Parts.Put(sharing.Part[any]{Hash: hash, Kind: kind, Key: string(raw), Value: v, Size: len(raw) + d.spent - spent})
		d.bound()
	}
	return v, j
}

func (d *Decoder) found(part *sharing.Part[any], i int, p *place) (any, int) {
	p.recent = part.Hash
	p.parts.Hit()
	d.stats.PartHits++
	return part.Value, i + len(part.Key)
}

func (d *Decoder) build(i, depth int, p *place, m *mask) (any, int) {
	if depth >= maxDepth {
		return nil, d.fail(i, ErrDepth, "")
	}
	if d.raw[i] == '{' {
		return d.object(i, depth, p, m)
	}
	return d.list(i, depth, p, m)
}

// object decodes the object at byte i.
func (d *Decoder) object(i, depth int, p *place, m *mask) (any, int) {
	base := len(d.members)
	if i = d.space(i + 1); i < len(d.raw) && d.raw[i] == '}' {
		return d.noMembers(), i + 1
	}
	for expected := &p.first; ; {
		var key string
		var at *place
		below, wanted, learnt := (*mask)(nil), true, true
		if e := *expected; e != nil && d.spells(i, e.key) {
			at, key, below = e, e.key, e.mask
			i += len(key) + 2
		} else {
			raw, j, plain := d.string(i)
			if j < 0 {
				return nil, j
			}
			i = j
			if below, wanted = m.child(raw); wanted {
				at, key, learnt = d.under(p, raw, plain, below, m.narrow())
			}
		}
		if wanted && learnt {
			*expected, expected = at, &at.next
		}
		if i = d.delimiter(i, ':'); i < 0 {
			return nil, i
		}
		if wanted {
			var v any
			if v, i = d.value(i, depth+1, at, below); i >= 0 {
				d.members = append(d.members, member{key, v})
			}
		} else {
			i = d.skip(i, depth+1)
		}
		if i < 0 {
			return nil, i
		}
		if i = d.space(i); i < len(d.raw) && d.raw[i] == '}' {
			return d.objectOf(base, m.narrow()), i + 1
		}
		if i = d.delimiter(i, ','); i < 0 {
			return nil, i
		}
	}
}

// spells reports whether there is a key at byte i that is written like this.
func (d *Decoder) spells(i int, key string) bool {
	end := i + 1 + len(key)
	return end < len(d.raw) && d.raw[end] == '"' && d.raw[i] == '"' && string(d.raw[i+1:end]) == key
}

// objectOf makes a map of the members from base on. Of several with one key it has
// the last.
func (d *Decoder) objectOf(base int, narrow bool) any {
	members := d.members[base:]
	if len(members) == 0 {
		return d.noMembers()
	}
	object := make(map[string]any, len(members))
	for i := range members {
		m := &members[i]
		if narrow && m.value == any(gone{}) {
			delete(object, m.key)
		} else {
			object[m.key] = m.value
		}
	}
	if len(object) <= len(members)/2 && len(members) > smallMap {
		roomy := object
		object = make(map[string]any, len(roomy))
		for k, v := range roomy {
			object[k] = v
		}
	}
	if n := len(object); n <= smallMap {
		d.spent += mapBytes + groupBytes
	} else {
		d.spent += mapBytes + n*entryBytes
	}
	clear(members)
	d.members = d.members[:base]
	return object
}

func (d *Decoder) noMembers() any {
	if d.unshared {
		return map[string]any{}
	}
	if d.emptyObject == nil {
		d.emptyObject = map[string]any{}
	}
	return d.emptyObject
}

// list decodes the list at byte i.
func (d *Decoder) list(i, depth int, p *place, m *mask) (any, int) {
	base := len(d.values)
	if i = d.space(i + 1); i < len(d.raw) && d.raw[i] == ']' {
		return d.noElements(), i + 1
	}
	m = m.elements()
	for at := d.rest(p); ; {
		v, j := d.value(i, depth+1, at, m)
		if j < 0 {
			return nil, j
		}
		if m == nil || v != any(gone{}) {
			d.values = append(d.values, v)
		}
		if i = d.space(j); i < len(d.raw) && d.raw[i] == ']' {
			return d.listOf(base), i + 1
		}
		if i = d.delimiter(i, ','); i < 0 {
			return nil, i
		}
	}
}

// listOf makes a slice of the values from base on, without spare capacity.
func (d *Decoder) listOf(base int) any {
	values := d.values[base:]
	if len(values) == 0 {
		return d.noElements()
	}
	list := make([]any, len(values))
	copy(list, values)
	d.spent += sliceBytes + len(list)*memberBytes
	clear(values)
	d.values = d.values[:base]
	return list
}

func (d *Decoder) noElements() any {
	if d.unshared {
		return []any{}
	}
	if d.emptyList == nil {
		d.emptyList = []any{}
	}
	return d.emptyList
}
