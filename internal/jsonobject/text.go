package jsonobject

import (
	"hash/maphash"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"heliograph.example/internal/sharing"
)

// plain tells which bytes stand for themselves in a string: ASCII but for quotes,
// backslashes and control characters.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// text decodes the string at byte i, at place p.
func (d *Decoder) text(i int, p *place) (any, int) {
	b, j, _ := d.string(i)
	if j < 0 {
		return nil, j
	}
	if len(b) == 0 || len(b) > sharing.MaxString || !p.texts.Awake() {
		d.spent += memberBytes + len(b)
		return string(b), j
	}
	return d.known(b, &p.texts), j
}

// known returns b as a string, the one made before if there is one.
func (d *Decoder) known(b []byte, t *sharing.Trial) any {
	d.stats.StringLookups++
	hash := uint32(maphash.Bytes(d.seed, b))
	if s := d.tables.Strings.Find(hash, b); s != nil {
		d.stats.StringHits++
		if t != nil {
			t.Hit()
		}
		return s.Value
	}
	if t != nil {
		t.Miss(4)
	}
	text := string(b)
	v := any(text)
	d.spent += memberBytes + len(b)
	d.tables.Strings.Put(hash, text, v)
	d.bound()
	return v
}

// intern returns a key as a string.
func (d *Decoder) intern(key []byte, t *sharing.Trial) string {
	if len(key) == 0 || len(key) > sharing.MaxString || t != nil && !t.Awake() {
		d.spent += len(key)
		return string(key)
	}
	return d.known(key, t).(string)
}

// string returns the bytes of the string at byte i, which are valid until the next
// call, and the byte after it, or -1. asIs tells that they are those of the input,
// none of which has a meaning of its own.
func (d *Decoder) string(i int) (text []byte, end int, asIs bool) {
	b := d.raw
	if i >= len(b) || b[i] != '"' {
		return nil, d.fail(i, ErrSyntax, "a string"), false
	}
	for j := i + 1; j < len(b); j++ {
		if c := b[j]; plain[c] {
			continue
		} else if c == '"' {
			return b[i+1 : j], j + 1, true
		}
		return d.unquote(i+1, j)
	}
	return nil, d.fail(len(b), ErrSyntax, "the end of a string"), false
}

// unquote goes on with a string that began at byte i, from byte j, at which there
// is something out of the ordinary.
func (d *Decoder) unquote(i, j int) (text []byte, end int, asIs bool) {
	b, out := d.raw, d.scratch[:0]
	same := true
	copied := i // up to there it is in out
	for j < len(b) {
		c := b[j]
		switch {
		case c == '"':
			if same {
				return b[i:j], j + 1, true
			}
			d.scratch = append(out, b[copied:j]...)
			return d.scratch, j + 1, false
		case c == '\\':
			out = append(out, b[copied:j]...)
			r, n := escape(b[j:])
			if n == 0 {
				return nil, d.badEscape(j), false
			}
			out = utf8.AppendRune(out, r)
			j += n
			copied, same = j, false
		case c < ' ':
			return nil, d.fail(j, ErrSyntax, "no control character in a string"), false
		case c < utf8.RuneSelf:
			j++
		default:
			r, n := utf8.DecodeRune(b[j:])
			if r == utf8.RuneError && n == 1 {
				out = append(out, b[copied:j]...)
				out = utf8.AppendRune(out, utf8.RuneError)
				copied, same = j+1, false
			}
			j += n
		}
	}
	return nil, d.fail(len(b), ErrSyntax, "the end of a string"), false
}

func (d *Decoder) badEscape(i int) int {
	if len(d.raw)-i < 6 {
		for _, c := range d.raw[i+1:] {
			if !hexadecimal(c) && c != 'u' {
				return d.fail(i, ErrSyntax, "an escape sequence")
			}
		}
		return d.fail(len(d.raw), ErrSyntax, "an escape sequence")
	}
	return d.fail(i, ErrSyntax, "an escape sequence")
}

// escape returns the character for the escape sequence at the beginning of b, and
// its length, 0 if it is none. Half of a surrogate pair is U+FFFD.
func escape(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return 0, 0
	}
	r, ok := codeUnit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := codeUnit(b[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
			return pair, 12
		}
	}
	return unicode.ReplacementChar, 6
}

// codeUnit reads \u and four hexadecimal digits.
func codeUnit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		if !hexadecimal(c) {
			return 0, false
		}
		digit := c - '0'
		if c > '9' {
			digit = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
