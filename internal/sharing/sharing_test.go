package sharing

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestWhatIsFoundWasPutForTheSameBytes(t *testing.T) {
	// Few hashes, so that the encodings must be compared.
	var tables Tables[int, string]
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for i := range 100_000 {
		n := random.IntN(500)
		key := fmt.Sprint("key ", n)
		hash := uint64(n%50) << 3
		if s := tables.Strings.Find(uint32(hash), []byte(key)); s == nil {
			tables.Strings.Put(uint32(hash), key, n)
		} else if found++; s.Text != key || s.Value != n {
			t.Fatalf("%q gives %q, %d", key, s.Text, s.Value)
		}
		kind := uint32(1 + n%3)
		if p := tables.Parts.Find(hash, kind, []byte(key)); p == nil {
			tables.Parts.Put(Part[string]{Hash: hash, Kind: kind, Key: key, Value: key, Size: len(key)})
		} else if found++; p.Value != key || p.Kind != kind {
			t.Fatalf("%q of kind %d gives %q of kind %d", key, kind, p.Value, p.Kind)
		}
		if i%10_000 == 0 {
			tables.Sweep()
		}
	}
	if found < 10_000 {
		t.Errorf("only %d were found", found)
	}
}

func TestAPartIsFoundByWhatBeginsWithItsKey(t *testing.T) {
	var parts Parts[int]
	parts.Put(Part[int]{Hash: 5, Kind: 1, Key: "[1]", Value: 7})
	for in, want := range map[string]bool{"[1]": true, "[1],2": true, "[1": false, "": false, "[2]": false} {
		if p := parts.Begins(5, 1, []byte(in)); (p != nil) != want {
			t.Errorf("%q: %v", in, p)
		}
	}
	if parts.Begins(6, 1, []byte("[1]")) != nil || parts.Begins(5, 2, []byte("[1]")) != nil {
		t.Error("another hash or another kind is found")
	}
}

func TestAHashIsMetAgain(t *testing.T) {
	var parts Parts[int]
	random := rand.New(rand.NewPCG(3, 4))
	met := 0
	for range 1000 {
		if hash := random.Uint64(); !parts.Again(hash) && parts.Again(hash) {
			met++
		}
	}
	if met < 990 { // a table that grows begins anew
		t.Errorf("%d of 1000 were new, and then met again", met)
	}
}

func TestTablesKeepWithinTheirLimitAndForgetWhatIsNotUsed(t *testing.T) {
	tables := Tables[struct{}, int]{Limit: 64 << 10}
	swept := 0
	for i := range 10_000 {
		tables.Strings.Put(uint32(i), fmt.Sprint("text ", i), struct{}{})
		if tables.Bound() {
			swept++
		}
		tables.Parts.Put(Part[int]{Hash: uint64(i), Kind: 1, Key: "key", Size: 100})
		if tables.Bound() {
			swept++
		}
		if held := tables.Held(); held > tables.Limit {
			t.Fatalf("%d bytes are held", held)
		}
	}
	if swept == 0 {
		t.Error("nothing was swept")
	}
	tables.Sweep()
	tables.Strings.Put(1, "used", struct{}{})
	tables.Strings.Put(2, "not used", struct{}{})
	tables.Strings.Find(1, []byte("used"))
	tables.Parts.Put(Part[int]{Hash: 1, Kind: 1, Key: "k"})
	tables.Sweep()
	if tables.Strings.Len() != 1 || tables.Strings.Find(1, []byte("used")) == nil || tables.Parts.Len() != 0 {
		t.Errorf("%d strings and %d parts are left", tables.Strings.Len(), tables.Parts.Len())
	}
	tables.Sweep()
	if tables.Sweep(); !tables.Empty() || tables.Held() != 0 {
		t.Errorf("%d bytes are held by empty tables", tables.Held())
	}
}

func TestAPlaceWhoseValuesNeverRepeatIsLeftAloneForLongerAndLonger(t *testing.T) {
	var never, often Trial
	lookups := 0
	for range 100 * Window {
		if never.Awake() {
			lookups++
			never.Miss(8)
		}
		if !often.Awake() {
			t.Fatal("a place is left alone whose values repeat")
		}
		often.Hit()
		often.Miss(8)
	}
	if lookups < Window || lookups > 10*Window || never.Mostly() {
		t.Errorf("%d of %d were looked up", lookups, 100*Window)
	}
	for range 20 {
		often.Hit()
	}
	if !often.Mostly() {
		t.Error("most were found")
	}
}
