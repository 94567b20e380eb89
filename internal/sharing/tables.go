package sharing

import "unsafe"

// What is worth looking up.
const (
	MaxString = 128     // bytes; longer strings are not
	MaxPart   = 1 << 14 // bytes of encoding; longer parts are not
)

// SweepEvery is after how many objects a decoder sweeps its tables.
const SweepEvery = 1 << 14

// How far the tables grow. What is in them is bounded by bytes as well.
const (
	firstSlots   = 64
	firstMarks   = 256
	maxSlots     = 1 << 15
	defaultBytes = 8 << 20
)

// ways is how many slots, from the one that its hash names, may hold an entry.
// When all are taken, the first that was not used since the last sweep gives
// way, or the first of all.
const ways = 8

// Stats tell what a decoder did and what it holds.
type Stats struct {
	Objects   uint64 // decoded
	Evictions uint64 // times that the tables were over their limit

	StringLookups, StringHits uint64
	PartLookups, PartHits     uint64

	Strings int // in the table
	Parts   int // in the table
	Bytes   int // held by the tables, about
}

// Tables are those of one decoder: of strings, each with a value S that was made
// of it, and of parts with values P. The zero value has nothing in it.
type Tables[S, P any] struct {
	Strings Strings[S]
	Parts   Parts[P]
	// Limit bounds what the tables hold, in bytes, as an estimate. Zero means
	// 8 MiB.
	Limit int
}

// Held is about how many bytes the tables take, with what is in them.
func (t *Tables[S, P]) Held() int { return t.Strings.held() + t.Parts.held() }

// Empty reports whether there is nothing in them.
func (t *Tables[S, P]) Empty() bool { return t.Strings.live == 0 && t.Parts.live == 0 }

// Sweep makes the tables forget what was not found since the last time, and
// everything if they are still half full: it is not worth looking for what to
// keep.
func (t *Tables[S, P]) Sweep() {
	t.Strings.sweep()
	t.Parts.sweep()
	if t.Held() > t.limit()/2 {
		t.Strings, t.Parts = Strings[S]{}, Parts[P]{}
	}
}

// Bound sweeps if the tables hold more than their limit, and reports whether they
// did. It is to be called after each Put.
func (t *Tables[S, P]) Bound() bool {
	if t.Held() <= t.limit() {
		return false
	}
	t.Sweep()
	return true
}

func (t *Tables[S, P]) limit() int {
	if t.Limit == 0 {
		return defaultBytes
	}
	return t.Limit
}

// Strings finds the string that was made for equal bytes before.
type Strings[S any] struct {
	slots []Text[S] // a power of two, or none
	live  int       // slots in use
	bytes int       // of the strings
}

// A Text is a string in a table.
type Text[S any] struct {
	Text  string
	Value S
	hash  uint32 // low bits of it: more than any table has slots for
	used  bool   // since the last sweep
}

// Len is how many strings there are.
func (t *Strings[S]) Len() int { return t.live }

// Find returns the entry for b, or nil. It is valid until the next call.
func (t *Strings[S]) Find(hash uint32, b []byte) *Text[S] {
	for i := uint32(0); i < ways && len(t.slots) > 0; i++ {
		s := &t.slots[(hash+i)&uint32(len(t.slots)-1)]
		if s.hash == hash && s.Text == string(b) {
			if !s.used {
				s.used = true
			}
			return s
		}
	}
	return nil
}

// Put adds a string that was not found. It must not be empty.
func (t *Strings[S]) Put(hash uint32, text string, value S) {
	if t.live >= len(t.slots)/2 && len(t.slots) < maxSlots {
		t.resize(max(firstSlots, 2*len(t.slots)))
	}
	t.set(Text[S]{Text: text, Value: value, hash: hash})
}

func (t *Strings[S]) set(s Text[S]) {
	at := &t.slots[s.hash&uint32(len(t.slots)-1)]
	for i := range uint32(ways) {
		next := &t.slots[(s.hash+i)&uint32(len(t.slots)-1)]
		if next.Text == "" {
			at = next
			break
		}
		if at.used && !next.used {
			at = next
		}
	}
	if at.Text == "" {
		t.live++
	}
	t.bytes += len(s.Text) - len(at.Text)
	*at = s
}

func (t *Strings[S]) resize(n int) {
	old := t.slots
	*t = Strings[S]{slots: make([]Text[S], n)}
	for _, s := range old {
		if s.Text != "" {
			t.set(s)
		}
	}
}

// sweep forgets what was not used since the last sweep.
func (t *Strings[S]) sweep() {
	for i := range t.slots {
		s := &t.slots[i]
		if s.Text != "" && !s.used {
			t.live--
			t.bytes -= len(s.Text)
			*s = Text[S]{}
		}
		s.used = false
	}
	if n := fitting(t.live); n < len(t.slots) {
		t.resize(n)
	}
}

// fitting returns how many slots a table shrinks to that holds live entries.
func fitting(live int) int {
	if live == 0 {
		return 0
	}
	n := firstSlots
	for n < 2*live {
		n *= 2
	}
	return n
}

func (t *Strings[S]) held() int {
	return t.bytes + len(t.slots)*int(unsafe.Sizeof(Text[S]{}))
}

// A Part is a decoded value that many objects may hold, with its encoding.
type Part[P any] struct {
	Hash  uint64
	Key   string // the encoding
	Value P
	// Size is about how many bytes value and key take.
	Size int
	// Kind tells apart what is made of equal encodings. It is not zero.
	Kind uint32
	used bool // since the last sweep
}

// Parts finds the value that was decoded from equal bytes before. A value is to be
// put into it when its encoding is met for the second time, so that what never
// repeats leaves no more than a hash; at once if the values of its place mostly
// repeat.
type Parts[P any] struct {
	slots []Part[P] // a power of two, or none
	live  int       // slots in use
	bytes int       // of keys and values

	once []uint32 // hashes met once, by other bits of the hash; 0 is free
	met  int      // hashes written to once since it has this size
}

// Len is how many parts there are.
func (t *Parts[P]) Len() int { return t.live }

// Find returns the entry for key, or nil. It is valid until the next call.
func (t *Parts[P]) Find(hash uint64, kind uint32, key []byte) *Part[P] {
	for i := uint64(0); i < ways && len(t.slots) > 0; i++ {
		p := &t.slots[(hash+i)&uint64(len(t.slots)-1)]
		if p.Hash == hash && p.Kind == kind && p.Key == string(key) {
			p.used = true
			return p
		}
	}
	return nil
}

// Begins returns the entry for the key that b begins with, if that is the one with
// this hash, or nil. It is for encodings of which none is the beginning of another.
func (t *Parts[P]) Begins(hash uint64, kind uint32, b []byte) *Part[P] {
	for i := uint64(0); i < ways && len(t.slots) > 0; i++ {
		p := &t.slots[(hash+i)&uint64(len(t.slots)-1)]
		if p.Hash == hash && p.Kind == kind && len(b) >= len(p.Key) && p.Key == string(b[:len(p.Key)]) {
			p.used = true
			return p
		}
	}
	return nil
}

// Again reports whether a hash has been met before, and remembers it. A table
// that has grown begins anew: that delays sharing by one more meeting.
func (t *Parts[P]) Again(hash uint64) bool {
	if t.met >= len(t.once)/2 && len(t.once) < maxSlots {
		t.once, t.met = make([]uint32, max(firstMarks, 2*len(t.once))), 0
	}
	mark := uint32(hash>>32) | 1
	at := &t.once[hash&uint64(len(t.once)-1)]
	for i := range uint64(ways) {
		next := &t.once[(hash+i)&uint64(len(t.once)-1)]
		if *next == mark {
			return true
		}
		if *next == 0 {
			at = next
			break
		}
	}
	*at = mark
	t.met++
	return false
}

// Put adds a part that was not found.
func (t *Parts[P]) Put(p Part[P]) {
	if t.live >= len(t.slots)/2 && len(t.slots) < maxSlots {
		t.resize(max(firstSlots, 2*len(t.slots)))
	}
	t.set(p)
}

func (t *Parts[P]) set(p Part[P]) {
	at := &t.slots[p.Hash&uint64(len(t.slots)-1)]
	for i := range uint64(ways) {
		next := &t.slots[(p.Hash+i)&uint64(len(t.slots)-1)]
		if next.Kind == 0 {
			at = next
			break
		}
		if at.used && !next.used {
			at = next
		}
	}
	if at.Kind == 0 {
		t.live++
	}
	t.bytes += p.Size - at.Size
	*at = p
}

func (t *Parts[P]) resize(n int) {
	old := t.slots
	t.slots, t.live, t.bytes = make([]Part[P], n), 0, 0
	for _, p := range old {
		if p.Kind != 0 {
			t.set(p)
		}
	}
}

// sweep forgets what was not used since the last sweep, and what was met once.
func (t *Parts[P]) sweep() {
	t.once, t.met = nil, 0
	for i := range t.slots {
		p := &t.slots[i]
		if p.Kind != 0 && !p.used {
			t.live--
			t.bytes -= p.Size
			*p = Part[P]{}
		}
		p.used = false
	}
	if n := fitting(t.live); n < len(t.slots) {
		t.resize(n)
	}
}

func (t *Parts[P]) held() int {
	return t.bytes + len(t.slots)*int(unsafe.Sizeof(Part[P]{})) + 4*len(t.once)
}
