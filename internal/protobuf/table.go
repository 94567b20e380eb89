package protobuf

import (
	"unsafe"
)

// How far the tables grow. What is in them is bounded by bytes as well, see
// [Options.TableBytes].
const (
	firstSlots = 64
	firstMarks = 256
	maxSlots   = 1 << 15
	maxString  = 128     // bytes; longer strings are not looked up
	maxPart    = 1 << 14 // bytes of encoding; longer values are not looked up
)

// ways is how many slots, from the one that its hash names, may hold an entry.
// When all are taken, the first that was not used since the last sweep gives
// way, or the first of all.
const ways = 8

// A stringTable finds the string that was made for equal bytes before.
type stringTable struct {
	slots []stringSlot // a power of two, or none
	live  int          // slots in use
	bytes int          // of the strings
}

type stringSlot struct {
	text string
	hash uint32 // low bits of it: more than any table has slots for
	used bool   // since the last sweep
}

func (t *stringTable) find(hash uint32, b []byte) (string, bool) {
	for i := uint32(0); i < ways && len(t.slots) > 0; i++ {
		s := &t.slots[(hash+i)&uint32(len(t.slots)-1)]
		if s.hash == hash && s.text == string(b) {
			if !s.used {
				s.used = true
			}
			return s.text, true
		}
	}
	return "", false
}

func (t *stringTable) put(s stringSlot) {
	if t.live >= len(t.slots)/2 && len(t.slots) < maxSlots {
		t.resize(max(firstSlots, 2*len(t.slots)))
	}
	t.set(s)
}

func (t *stringTable) set(s stringSlot) {
	at := &t.slots[s.hash&uint32(len(t.slots)-1)]
	for i := range uint32(ways) {
		next := &t.slots[(s.hash+i)&uint32(len(t.slots)-1)]
		if next.text == "" {
			at = next
			break
		}
		if at.used && !next.used {
			at = next
		}
	}
	if at.text == "" {
		t.live++
	}
	t.bytes += len(s.text) - len(at.text)
	*at = s
}

func (t *stringTable) resize(n int) {
	old := t.slots
	*t = stringTable{slots: make([]stringSlot, n)}
	for _, s := range old {
		if s.text != "" {
			t.set(s)
		}
	}
}

// sweep forgets what was not used since the last sweep.
func (t *stringTable) sweep() {
	for i := range t.slots {
		s := &t.slots[i]
		if s.text != "" && !s.used {
			t.live--
			t.bytes -= len(s.text)
			*s = stringSlot{}
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

func (t *stringTable) held() int {
	return t.bytes + len(t.slots)*int(unsafe.Sizeof(stringSlot{}))
}

// A part is a decoded value that many objects may hold, with its encoding.
type part struct {
	hash  uint64
	key   string // the encoding, with the tags if it is a run
	value unsafe.Pointer
	kind  uint32 // of the field; 0 is a free slot
	count int32  // elements, if it is a slice
	size  int    // bytes of the value and the key, about
	used  bool   // since the last sweep
}

// A partTable finds the value that was decoded from equal bytes before. A
// value enters it when its encoding is met for the second time, so that what
// never repeats leaves no more than a hash; at once if the values of its field
// mostly repeat.
type partTable struct {
	slots []part // a power of two, or none
	live  int    // slots in use
	bytes int    // of keys and values

	once []uint32 // hashes met once, by other bits of the hash; 0 is free
	met  int      // hashes written to once since it has this size
}

// find returns the value for key, or nil.
func (t *partTable) find(hash uint64, kind uint32, key []byte) *part {
	for i := uint64(0); i < ways && len(t.slots) > 0; i++ {
		p := &t.slots[(hash+i)&uint64(len(t.slots)-1)]
		if p.hash == hash && p.kind == kind && p.key == string(key) {
			p.used = true
			return p
		}
	}
	return nil
}

// again reports whether a hash has been met before, and remembers it. A table
// that has grown begins anew: that delays sharing by one more meeting.
func (t *partTable) again(hash uint64) bool {
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

func (t *partTable) put(p part) {
	if t.live >= len(t.slots)/2 && len(t.slots) < maxSlots {
		t.resize(max(firstSlots, 2*len(t.slots)))
	}
	t.set(p)
}

func (t *partTable) set(p part) {
	at := &t.slots[p.hash&uint64(len(t.slots)-1)]
	for i := range uint64(ways) {
		next := &t.slots[(p.hash+i)&uint64(len(t.slots)-1)]
		if next.kind == 0 {
			at = next
			break
		}
		if at.used && !next.used {
			at = next
		}
	}
	if at.kind == 0 {
		t.live++
	}
	t.bytes += p.size - at.size
	*at = p
}

func (t *partTable) resize(n int) {
	old := t.slots
	t.slots, t.live, t.bytes = make([]part, n), 0, 0
	for _, p := range old {
		if p.kind != 0 {
			t.set(p)
		}
	}
}

// sweep forgets what was not used since the last sweep, and what was met once.
func (t *partTable) sweep() {
	t.once, t.met = nil, 0
	for i := range t.slots {
		p := &t.slots[i]
		if p.kind != 0 && !p.used {
			t.live--
			t.bytes -= p.size
			*p = part{}
		}
		p.used = false
	}
	if n := fitting(t.live); n < len(t.slots) {
		t.resize(n)
	}
}

func (t *partTable) held() int {
	return t.bytes + len(t.slots)*int(unsafe.Sizeof(part{})) + 4*len(t.once)
}

// A trial decides whether looking up the values of one field pays. After each
// window of misses it counts: with too few hits among them the field is left
// alone for a while, twice as long each time, up to 32 windows.
type trial struct {
	hits, misses uint32
	asleep       uint32 // lookups still to leave out
	failed       uint8
}

const window = 512

func (t *trial) awake() bool {
	if t.asleep == 0 {
		return true
	}
	t.asleep--
	return false
}

// miss counts a miss; a hit should come for each ratio of them.
func (t *trial) miss(ratio uint32) {
	if t.misses++; t.misses < window {
		return
	}
	if t.hits*ratio >= t.misses {
		t.failed = 0
		t.hits, t.misses = t.hits/2, t.misses/2
	} else {
		t.asleep = window << t.failed
		t.failed = min(t.failed+1, 5)
		t.hits, t.misses = 0, 0
	}
}

// mostly reports whether most values were met before.
func (t *trial) mostly() bool { return t.hits > 16 && t.hits > t.misses }
