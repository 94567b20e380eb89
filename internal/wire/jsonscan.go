package wire

import (
	"encoding/json"
	"errors"
	"io"
)

// scan finds the end of one JSON value, which may come in pieces. It knows
// strings and brackets, and leaves all else to the decoder of the value: the
// value ends where any decoder would see its end, if it is one.
type scan struct {
	// depth is the number of open brackets, deepest the most there were.
	depth, deepest int
	// text and escaped tell what is open: a string, and a backslash in it.
	text, escaped bool
}

// What the bytes of JSON mean to a scan.
const (
	plain = iota
	quote
	open
	shut
	ends // white space, and what stands between values
)

var meaning = [256]uint8{
	'"': quote, '{': open, '[': open, '}': shut, ']': shut,
	' ': ends, '\t': ends, '\r': ends, '\n': ends, ',': ends, ':': ends,
}

// feed looks at the next bytes of the value. It returns how many of them belong
// to it, and whether it is complete.
func (s *scan) feed(b []byte) (n int, done bool) {
	for i := 0; i < len(b); {
		if s.text {
			if i = s.string(b, i); !s.text && s.depth == 0 {
				return i, true
			}
			continue
		}
		switch meaning[b[i]] {
		case quote:
			s.text = true
		case open:
			s.depth++
			s.deepest = max(s.deepest, s.depth)
		case shut:
			if s.depth == 0 {
				return i, true // of what is around a scalar
			}
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case ends:
			if s.depth == 0 {
				return i, true
			}
		}
		i++
	}
	return len(b), false
}

// string goes on in a string, from b[i] to behind its end.
func (s *scan) string(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch {
		case s.escaped:
			s.escaped = false
		case b[i] == '\\':
			s.escaped = true
		case b[i] == '"':
			s.text = false
			return i + 1
		}
	}
	return i
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func beginsJSON(b byte) bool { return b == '{' || isSpace(b) }

// beginsValue reports whether a JSON value may begin with b.
func beginsValue(b byte) bool {
	switch b {
	case '{', '[', '"', '-', 't', 'f', 'n':
		return true
	}
	return '0' <= b && b <= '9'
}

// errLong is returned by value for a value beyond the limit, whose bytes up to
// there are at hand.
var errLong = errors.New("wire: a long value")

// space returns where at or behind at, counted from lo, there is something else
// than white space.
func (w *window) space(at int) (int, error) {
	for {
		b := w.have()
		for at < len(b) && isSpace(b[at]) {
			at++
		}
		if at < len(b) {
			return at, nil
		}
		if err := w.need(at + 1); err != nil {
			return at, err
		}
		if at >= usualWindow {
			return at, syntax(w.off, "%d bytes of white space", at)
		}
	}
}

// byte returns the first byte at or behind at that is no white space, and where
// it is.
func (w *window) byte(at int) (byte, int, error) {
	at, err := w.space(at)
	if err != nil {
		return 0, at, err
	}
	return w.have()[at], at, nil
}

// expect is byte for a byte that must be what.
func (w *window) expect(at int, what byte) (behind int, err error) {
	b, at, err := w.byte(at)
	if err == nil && b != what {
		err = syntax(w.off+int64(at), "got %q, want %q", b, what)
	}
	return at + 1, err
}

// value returns the end of the value that begins at at. Of a value longer than
// limit it returns errLong and where s can go on.
func (w *window) value(at, limit int, s *scan) (end int, err error) {
	if b := w.have()[at]; !beginsValue(b) {
		return at, syntax(w.off+int64(at), "got %q, want a value", b)
	}
	for end = at; ; {
		n, done := s.feed(w.have()[end:])
		end += n
		switch {
		case end-at > limit:
			return end, errLong
		case done:
			return end, nil
		}
		if err := w.need(end + 1); err != nil {
			return end, err
		}
	}
}

// key returns the key that begins at at, without its quotes, and the place of
// the value behind it. The key is a copy only if it has escapes.
func (w *window) key(at int) (key []byte, value int, err error) {
	b, at, err := w.byte(at)
	if err != nil {
		return nil, at, err
	}
	if b != '"' {
		return nil, at, syntax(w.off+int64(at), "got %q, want a key", b)
	}
	var s scan
	end, err := w.value(at, maxRest, &s)
	if err == errLong {
		err = syntax(w.off+int64(at), "a key of more than %d bytes", maxRest)
	}
	if err != nil {
		return nil, at, err
	}
	colon, err := w.expect(end, ':')
	if err != nil {
		return nil, at, err
	}
	if _, value, err = w.byte(colon); err != nil {
		return nil, at, err
	}
	return text(w.have()[at:end]), value, nil
}

// text returns what stands in a JSON string, or nothing if that is none. It is a
// copy only if there are escapes.
func text(b []byte) []byte {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil
	}
	for _, c := range b {
		if c == '\\' {
			var s string
			if json.Unmarshal(b, &s) != nil {
				return nil
			}
			return []byte(s)
		}
	}
	return b[1 : len(b)-1]
}

// giant reads a value to its end that is too large to be held: value has found
// it to begin at at and has come to end. Its beginning is returned, and all of it
// is left behind.
func (w *window) giant(at, end int, s *scan) ([]byte, error) {
	b := append([]byte(nil), w.have()[at:at+beginning]...)
	w.advance(end)
	for {
		n, done := s.feed(w.have())
		w.advance(n)
		if done {
			return b, nil
		}
		if err := w.need(1); err != nil {
			return b, w.inside(err)
		}
	}
}

// members walks the members of a JSON object in memory, as far as it is one, and
// reports whether it came to the end.
func members(b []byte, each func(key, value []byte) (goOn bool)) (whole bool) {
	w := window{buf: b, hi: len(b), err: io.EOF}
	at, err := w.expect(0, '{')
	if err != nil {
		return false
	}
	if c, end, err := w.byte(at); err != nil || c == '}' {
		return err == nil && end == len(b)-1
	}
	for {
		key, value, err := w.key(at)
		if err != nil {
			return false
		}
		var s scan
		end, err := w.value(value, len(b), &s)
		if !each(key, b[value:end]) || err != nil {
			return false
		}
		c, next, err := w.byte(end)
		if err != nil || c != ',' {
			return err == nil && c == '}' && next == len(b)-1
		}
		at = next + 1
	}
}
