package jsonobject

import (
	"math"
	"strconv"
)

// digits is how many decimal digits certainly fit into an int64.
const digits = 18

// number decodes the number at byte i: into an int64 if it is whole, written
// without an exponent, and fits, else into a float64.
func (d *Decoder) number(i int) (any, int) {
	j, whole := d.numeral(i)
	if j < 0 {
		return nil, j
	}
	b := d.raw[i:j]
	if whole && len(b) <= digits {
		return d.integer(small(b)), j
	}
	if whole {
		if v, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return d.integer(v), j
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return nil, d.fail(i, ErrRange, "")
	}
	return d.float(f), j
}

// small reads a whole number that certainly fits.
func small(b []byte) int64 {
	negative := b[0] == '-'
	if negative {
		b = b[1:]
	}
	var v int64
	for _, c := range b {
		v = 10*v + int64(c-'0')
	}
	if negative {
		return -v
	}
	return v
}

// numeral returns the byte after the number at byte i, or -1, and whether there is
// neither a fraction nor an exponent.
func (d *Decoder) numeral(i int) (end int, whole bool) {
	b := d.raw
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = d.someDigits(i); i < 0 {
		return i, false
	}
	whole = true
	if i < len(b) && b[i] == '.' {
		whole = false
		if i = d.someDigits(i + 1); i < 0 {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		whole = false
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = d.someDigits(i); i < 0 {
			return i, false
		}
	}
	return i, whole
}

func (d *Decoder) someDigits(i int) int {
	b, j := d.raw, i
	for j < len(b) && b[j] >= '0' && b[j] <= '9' {
		j++
	}
	if j == i {
		return d.fail(i, ErrSyntax, "a digit")
	}
	return j
}

// integer returns v in an interface, which is nothing new for the numbers that the
// runtime or the decoder has.
func (d *Decoder) integer(v int64) any {
	if v >= 0 && v < 256 {
		return v
	}
	e := d.slot(uint64(v))
	if known, ok := (*e).(int64); !ok || known != v {
		*e = v
	}
	return *e
}

func (d *Decoder) float(v float64) any {
	e := d.slot(math.Float64bits(v))
	if known, ok := (*e).(float64); !ok || math.Float64bits(known) != math.Float64bits(v) {
		*e = v
	}
	return *e
}

// slot is where a number is kept.
func (d *Decoder) slot(bits uint64) *any {
	if d.numbers == nil {
		d.numbers = make([]any, numbers)
	}
	d.spent += 8
	return &d.numbers[bits*0x9E3779B97F4A7C15>>32%numbers]
}
