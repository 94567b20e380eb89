package gate

import (
	"flag"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write what was measured to "+figuresFile)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without the race detector, because it changes what memory is used.
func TestNothingCostsMoreThanItDidWithoutRace(t *testing.T) {
	if underRace {
		t.Skip("the race detector changes what memory is used")
	}
	text, err := os.ReadFile(figuresFile)
	if err != nil {
		t.Fatal(err)
	}
	written, err := readFigures(text)
	if err != nil {
		t.Fatal(err)
	}
	measured := make(figures)
	for _, measure := range []func(*testing.T, figures){
		measureSync, measureEvents, measureWatch, measureStore, measureQueue, measureIdle,
	} {
		measure(t, measured)
	}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		t.Logf("%10.3f %s", measured[name], name)
	}
	if *update {
		if err := measured.write(figuresFile); err != nil {
			t.Fatal(err)
		}
		return
	}
	dearer, cheaper := measured.compare(written)
	for _, line := range dearer {
		t.Errorf("dearer: %s", line)
	}
	for _, line := range cheaper {
		t.Logf("cheaper: %s; please write it down with -update", line)
	}
	for name := range written {
		if _, ok := measured[name]; !ok {
			t.Errorf("%s is written down and was not measured", name)
		}
	}
}

// liveHeap collects garbage and returns the bytes that are left. The second
// collection empties what pools have kept over the first.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// allocated returns what was allocated so far: the number and the bytes.
func allocated() (mallocs, bytes float64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs), float64(m.TotalAlloc)
}
