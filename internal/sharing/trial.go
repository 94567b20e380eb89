package sharing

// A Trial decides whether looking up the values of one place pays. After each
// window of misses it counts: with too few hits among them the place is left
// alone for a while, twice as long each time, up to 32 windows. The zero value is
// a new trial.
type Trial struct {
	hits, misses uint32
	asleep       uint32 // lookups still to leave out
	failed       uint8
}

// Window is after how many misses a Trial decides.
const Window = 512

// Awake reports whether the next value is to be looked up.
func (t *Trial) Awake() bool {
	if t.asleep == 0 {
		return true
	}
	t.asleep--
	return false
}

// Hit counts a value that was found.
func (t *Trial) Hit() { t.hits++ }

// Miss counts one that was not; a hit should come for each ratio of them.
func (t *Trial) Miss(ratio uint32) {
	if t.misses++; t.misses < Window {
		return
	}
	if t.hits*ratio >= t.misses {
		t.failed = 0
		t.hits, t.misses = t.hits/2, t.misses/2
	} else {
		t.asleep = Window << t.failed
		t.failed = min(t.failed+1, 5)
		t.hits, t.misses = 0, 0
	}
}

// Mostly reports whether most values were found.
func (t *Trial) Mostly() bool { return t.hits > 16 && t.hits > t.misses }
