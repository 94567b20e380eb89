package jsonobject

// space returns the first byte from i on that is no white space.
func (d *Decoder) space(i int) int {
	b := d.raw
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// delimiter returns what comes after a comma or colon and white space.
func (d *Decoder) delimiter(i int, c byte) int {
	b := d.raw
	if i < len(b) && b[i] <= ' ' {
		i = d.space(i)
	}
	if i >= len(b) || b[i] != c {
		return d.fail(i, ErrSyntax, "'"+string(rune(c))+"'")
	}
	if i++; i < len(b) && b[i] <= ' ' {
		return d.space(i)
	}
	return i
}

// literal returns the byte after one of true, false and null.
func (d *Decoder) literal(i int, word string) int {
	b := d.raw[i:]
	if len(b) >= len(word) && string(b[:len(word)]) == word {
		return i + len(word)
	}
	for n := range word {
		if n >= len(b) || b[n] != word[n] {
			i += n
			break
		}
	}
	return d.fail(i, ErrSyntax, word)
}

// skip returns the byte after the value at byte i, or -1, and decodes nothing. It
// takes what would be decoded, and numbers that are out of range.
func (d *Decoder) skip(i, depth int) int {
	if i >= len(d.raw) {
		return d.fail(i, ErrSyntax, "a value")
	}
	switch c := d.raw[i]; {
	case c == '"':
		return d.skipString(i)
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return d.fail(i, ErrDepth, "")
		}
		return d.skipCompound(i, depth, c+2, c == '{') // its partner is two further in ASCII
	case c == '-' || c >= '0' && c <= '9':
		end, _ := d.numeral(i)
		return end
	case c == 't':
		return d.literal(i, "true")
	case c == 'f':
		return d.literal(i, "false")
	case c == 'n':
		return d.literal(i, "null")
	}
	return d.fail(i, ErrSyntax, "a value")
}

// skipCompound skips an object or a list that ends with a bracket.
func (d *Decoder) skipCompound(i, depth int, bracket byte, object bool) int {
	if i = d.space(i + 1); i < len(d.raw) && d.raw[i] == bracket {
		return i + 1
	}
	for {
		if object {
			if i = d.skipString(i); i < 0 {
				return i
			}
			if i = d.delimiter(i, ':'); i < 0 {
				return i
			}
		}
		if i = d.skip(i, depth+1); i < 0 {
			return i
		}
		if i < len(d.raw) && d.raw[i] <= ' ' {
			i = d.space(i)
		}
		if i < len(d.raw) && d.raw[i] == bracket {
			return i + 1
		}
		if i = d.delimiter(i, ','); i < 0 {
			return i
		}
	}
}

// skipString returns the byte after the string at byte i.
func (d *Decoder) skipString(i int) int {
	b := d.raw
	if i >= len(b) || b[i] != '"' {
		return d.fail(i, ErrSyntax, "a string")
	}
	for j := i + 1; j < len(b); j++ {
		c := b[j]
		if plain[c] {
			continue
		}
		switch {
		case c == '"':
			return j + 1
		case c == '\\':
			_, n := escape(b[j:])
			if n == 0 {
				return d.badEscape(j)
			}
			j += n - 1
		case c < ' ':
			return d.fail(j, ErrSyntax, "no control character in a string")
		}
	}
	return d.fail(len(b), ErrSyntax, "the end of a string")
}

// extent returns the byte after the object or list at byte i, -1 if there is none
// within a number of bytes. It looks at brackets and strings only.
func extent(b []byte, i, most int) int {
	if len(b)-i > most {
		b = b[:i+most]
	}
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
