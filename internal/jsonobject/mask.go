package jsonobject

import "strings"

// A mask says what is wanted of a value; nil wants all of it. Of a list it says so
// for each element. It is immutable once the decoder is made.
type mask struct {
	kind   uint32 // of the parts that are decoded with it
	names  []named
	others bool // what has no name here is wanted as a whole
}

type named struct {
	name  string
	below *mask
	not   bool // it is not wanted
}

// wholly is the kind of parts of which everything is wanted.
const wholly = 1

// newMask returns the mask for an object.
func newMask(o Options) *mask {
	var root *mask
	kind := uint32(wholly)
	under := func(m *mask) *mask {
		kind++
		m.kind = kind
		return m
	}
	if len(o.Fields) > 0 {
		root = under(&mask{})
	}
	for _, path := range o.Fields {
		m := root
		for path := path; m != nil; {
			name, rest, more := strings.Cut(path, ".")
			at := m.at(name)
			switch {
			case at == nil && more:
				m.names = append(m.names, named{name: name, below: under(&mask{})})
			case at == nil:
				m.names = append(m.names, named{name: name})
			case !more:
				at.below = nil
			}
			if !more {
				break
			}
			m, path = m.at(name).below, rest
		}
	}
	if !o.DropManagedFields {
		return root
	}
	if root == nil {
		root = under(&mask{others: true})
	}
	at := root.at("metadata")
	if at == nil && !root.others {
		return root
	}
	if at == nil {
		root.names = append(root.names, named{name: "metadata"})
		at = root.at("metadata")
	}
	if at.below == nil {
		at.below = under(&mask{others: true})
	}
	if managed := at.below.at("managedFields"); managed != nil {
		managed.not = true
	} else {
		at.below.names = append(at.below.names, named{name: "managedFields", not: true})
	}
	return root
}

func (m *mask) at(name string) *named {
	for i := range m.names {
		if m.names[i].name == name {
			return &m.names[i]
		}
	}
	return nil
}

// child returns the mask for the value under key, and whether that is wanted.
func (m *mask) child(key []byte) (*mask, bool) {
	if m == nil {
		return nil, true
	}
	for i := range m.names {
		if n := &m.names[i]; n.name == string(key) {
			return n.below, !n.not
		}
	}
	return nil, m.others
}

// elements returns the mask for the elements of a list. What is left out by name
// is only so in an object.
func (m *mask) elements() *mask {
	if m != nil && m.others {
		return nil
	}
	return m
}

// narrow reports whether nothing is wanted of a value without names.
func (m *mask) narrow() bool { return m != nil && !m.others }
