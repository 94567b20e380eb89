package protobuf

// Wire types: the low three bits of a tag.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireStartGroup = 3
	wireEndGroup   = 4
	wireFixed32    = 5
)

// maxVarint is how many bytes a varint may have. Bits of the tenth byte that
// do not fit into 64 are dropped, as the generated decoders do.
const maxVarint = 10

// uvarint reads the varint at b[i:] and returns it with the index that
// follows, or an index of -1 if there is none.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (u uint64, end int) {
	for shift := uint(0); shift < 7*maxVarint && i < len(b); shift += 7 {
		c := b[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

// chunk returns the bounds of the length-delimited value whose length is at
// b[i:], or an end of -1 if it does not fit into b.
func chunk(b []byte, i int) (from, to int) {
	u, i := uvarint(b, i)
	if i < 0 || u > uint64(len(b)-i) {
		return 0, -1
	}
	return i, i + int(u)
}

// skip returns the index that follows the field whose tag is at b[i:], or -1
// if the field is malformed. Groups are followed without recursion.
func skip(b []byte, i int) int {
	for depth := 0; ; {
		tag, at := uvarint(b, i)
		if at < 0 {
			return -1
		}
		switch tag & 7 {
		case wireVarint:
			if _, at = uvarint(b, at); at < 0 {
				return -1
			}
		case wireFixed64:
			at += 8
		case wireBytes:
			if _, at = chunk(b, at); at < 0 {
				return -1
			}
		case wireStartGroup:
			depth++
		case wireEndGroup:
			if depth--; depth < 0 {
				return -1
			}
		case wireFixed32:
			at += 4
		default:
			return -1
		}
		if at > len(b) {
			return -1
		}
		if depth == 0 {
			return at
		}
		i = at
	}
}

// run measures the length-delimited fields that follow each other under one
// and the same tag, spelled the same. The tag of the first is b[start:i] and
// its value ends at to. It returns the end of the last and their count.
func run(b []byte, start, i, to int) (end, n int) {
	size := i - start
	for end, n = to, 1; len(b)-end > size && b[end] == b[start]; n++ {
		if size > 1 && string(b[end:end+size]) != string(b[start:i]) {
			break
		}
		_, next := chunk(b, end+size)
		if next < 0 {
			break // whoever decodes what follows meets the fault again
		}
		end = next
	}
	return end, n
}
