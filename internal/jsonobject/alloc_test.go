package jsonobject

import (
	"runtime"
	"testing"
)

// TestWhatAnObjectAllocatesWithoutRace holds the line for the hot path. The
// objects are distinct, ten to a set, and the first of a set is decoded
// without help. Which values meet in the tables depends on the random seed of the
// hashes, so there is room of a few percent.
func TestWhatAnObjectAllocatesWithoutRace(t *testing.T) {
	raws := applications(t, 50)
	for i, most := range mostAllocs {
		mode := benchModes[i]
		d := NewDecoder(mode.o)
		next := 0
		perObject := testing.AllocsPerRun(len(raws)-1, func() { // and once before
			if _, err := d.Decode(raws[next]); err != nil {
				t.Fatal(err)
			}
			next++
		})
		t.Logf("%s: %v allocations", mode.name, perObject)
		if perObject > most {
			t.Errorf("%s: %v allocations, want at most %v", mode.name, perObject, most)
		}
	}
}

// TestWhatAnObjectRetainsWithoutRace compares with the stock decoder.
func TestWhatAnObjectRetainsWithoutRace(t *testing.T) {
	raws := applications(t, 60)
	names, decoders := decoders()
	var stock float64
	for i, decode := range decoders {
		kept := make([]map[string]any, len(raws))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i, raw := range raws {
			kept[i], _ = decode(raw)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(raws))
		runtime.KeepAlive(kept)
		runtime.KeepAlive(decode)
		t.Logf("%s: %.0f bytes", names[i], each)
		if i == 0 {
			stock = each
		} else if each*leastSaved[i] > stock {
			t.Errorf("%s: %.0f bytes an object, the stock decoder %.0f: want %.1f times less", names[i], each, stock, leastSaved[i])
		}
	}
}

var (
	mostAllocs = []float64{300, 200, 80, 70, 40}
	leastSaved = []float64{1, 0.9, 1.1, 1.5, 5, 6, 11}
)
