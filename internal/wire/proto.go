package wire

import (
	"encoding/binary"
	"math"
)

// The wire types of protobuf that Kubernetes uses.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// magic stands before every protobuf message of Kubernetes that is not part of
// another. A runtime.Unknown follows.
const magic = "k8s\x00"

// field is one field of a message in memory.
type field struct {
	num  uint64
	wire uint8
	// value is the value of a field of type wireBytes.
	value []byte
	// size is the length of the whole field.
	size int
}

// nextField reads the first field of b. problem says why that is not possible.
func nextField(b []byte) (f field, problem string) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
		return f, "not the tag of a field"
	}
	f.num, f.wire, f.size = tag>>3, uint8(tag&7), n
	rest := uint64(len(b) - n)
	switch f.wire {
	case wireVarint:
		_, k := binary.Uvarint(b[n:])
		if k <= 0 {
			return f, "a bad varint"
		}
		f.size += k
	case wireFixed64, wireFixed32:
		k := uint64(8)
		if f.wire == wireFixed32 {
			k = 4
		}
		if k > rest {
			return f, "a number that is longer than its message"
		}
		f.size += int(k)
	case wireBytes:
		length, k := binary.Uvarint(b[n:])
		if k <= 0 {
			return f, "a bad length"
		}
		if length > rest-uint64(k) {
			f.value = b[n+k:]
			return f, "a field that is longer than its message"
		}
		f.size += k + int(length)
		f.value = b[n+k : f.size : f.size]
	default:
		return f, "a field of an unknown wire type"
	}
	return f, ""
}

// fields calls each for the fields of a message in memory. at is its offset in
// the stream.
func fields(b []byte, at int64, each func(f field) error) error {
	for i := 0; i < len(b); {
		f, problem := nextField(b[i:])
		if problem != "" {
			return syntax(at+int64(i), "%s", problem)
		}
		if err := each(f); err != nil {
			return err
		}
		i += f.size
	}
	return nil
}

// bytesOf returns the value of a field that must be of type wireBytes.
func bytesOf(f field, at int64, name string) ([]byte, error) {
	if f.wire != wireBytes {
		return nil, syntax(at, "%s has wire type %d", name, f.wire)
	}
	return f.value, nil
}

// unwrap reads an envelope in memory: magic and a runtime.Unknown.
func unwrap(b []byte, at int64, names *names) (raw []byte, err error) {
	typed := false
	defer func() {
		if !typed {
			names.set(nil, nil)
		}
	}()
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, syntax(at, "not an object in protobuf, which begins with %q", magic)
	}
	at += int64(len(magic))
	err = fields(b[len(magic):], at, func(f field) (err error) {
		switch f.num {
		case 1:
			var meta []byte
			if meta, err = bytesOf(f, at, "the type"); err == nil {
				err = names.protobuf(meta, at)
				typed = err == nil
			}
		case 2:
			raw, err = bytesOf(f, at, "the object")
		}
		return err
	})
	return raw, err
}

// tooDeep reports whether a message might be nested deeper than MaxDepth, taking
// for a message whatever can be one. Text never is one for long.
func tooDeep(b []byte) bool {
	// Each level takes two bytes at least, and soon more, for its length.
	if len(b) < 2*MaxDepth {
		return false
	}
	var ends []int
	end := len(b)
	for i := 0; ; {
		for i >= end {
			if len(ends) == 0 {
				return false
			}
			end, ends = ends[len(ends)-1], ends[:len(ends)-1]
		}
		f, problem := nextField(b[i:end])
		switch {
		case problem != "":
			i = end // it was no message
		case f.wire == wireBytes && len(f.value) > 0:
			if len(ends) == MaxDepth {
				return true
			}
			ends = append(ends, end)
			end = i + f.size
			i = end - len(f.value)
		default:
			i += f.size
		}
	}
}
