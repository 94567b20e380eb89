package simulation

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

var (
	firstSeed = flag.Uint64("first", 0, "the first seed")
	seedCount = flag.Uint64("seeds", 0, "the number of seeds; 0 is what a quick test has time for")
	recordAt  = flag.String("record", "", "a file with a record to replay")
)

const (
	// mostFailures is how many failures are told in full.
	mostFailures = 3
	progressEach = 30 * time.Second
)

// total is what all seeds went through, for the last line of a soak.
var total struct {
	sync.Mutex
	Tally
	seeds, failures int
}

func TestMain(m *testing.M) {
	flag.Parse()
	// What is wrong on purpose needs no log.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if *seedCount > 0 {
		fmt.Printf("%d seeds, %d events, %d faults, %d failures\n", total.seeds, total.Events, total.Faults, total.failures)
	}
	os.Exit(code)
}

// TestInformersKeepTheirPromisesWithoutRace runs seeds: more of them in a run of
// its own without the race detector.
func TestInformersKeepTheirPromisesWithoutRace(t *testing.T) {
	count := *seedCount
	if count == 0 {
		count = quickSeeds
	}
	runSeeds(t, *firstSeed, count)
}

// runSeeds runs seeds on all processors.
func runSeeds(t *testing.T, first, count uint64) {
	var mu sync.Mutex
	next, told := first, time.Now()
	take := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(told) > progressEach {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d seeds, %d failures\n", next-first, count, total.failures)
		}
		if next == first+count || total.failures >= 100 {
			return 0, false
		}
		next++
		return next - 1, true
	}
	t.Run("all", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker ", n), func(t *testing.T) {
				t.Parallel()
				for seed, ok := take(); ok; seed, ok = take() {
					runSeed(t, seed)
				}
			})
		}
	})
}

func runSeed(t *testing.T, seed uint64) {
	out := Run(t, seed)
	total.Lock()
	total.seeds++
	total.Events += out.Events
	total.Faults += out.Faults
	if out.Failure != nil {
		total.failures++
	}
	tell := total.failures <= mostFailures
	total.Unlock()
	switch {
	case out.Failure == nil:
	case tell:
		t.Errorf("seed %d: %v\n%s", seed, out.Failure, story(t, seed, &out))
	default:
		t.Errorf("seed %d: %v", seed, out.Failure)
	}
}

// story is the record of a failure, as short as it can be made, and how to play
// it back.
func story(t *testing.T, seed uint64, out *Outcome) string {
	record := out.Record(out.Failure.Mirror)
	if record == nil {
		return "it is not about one informer, so there is no record of it"
	}
	var b strings.Builder
	long := writeRecord(t, fmt.Sprintf("seed%d-*.jsonl", seed), record)
	fmt.Fprintf(&b, "the record of %s is in %s (%d lines)\n", out.Failure.Mirror, long, len(record))
	fails := func(lines []Line) bool {
		failure, err := Replay(t, lines)
		return sameFailure(out.Failure, failure, err)
	}
	if failure, err := Replay(t, record); !sameFailure(out.Failure, failure, err) {
		fmt.Fprintf(&b, "a replay of it does not fail so (%v, %v): what is wrong lies before or behind the informer\n", failure, err)
		return b.String()
	}
	short := Shrink(record, fails)
	name := writeRecord(t, fmt.Sprintf("seed%d-short-*.jsonl", seed), short)
	fmt.Fprintf(&b, "what is left of it, %d lines, in %s:\n", len(short), name)
	if err := WriteRecord(&b, short); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(&b, "to play it back: go test ./internal/simulation -run Replay -args -record=%s\n", name)
	return b.String()
}

// writeRecord keeps a record in a file of its own.
func writeRecord(t *testing.T, pattern string, lines []Line) string {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer f.Close()
	if err := WriteRecord(f, lines); err != nil {
		t.Error(err)
	}
	return f.Name()
}

// TestReplay plays a record back: go test -run Replay -args -record=FILE
func TestReplay(t *testing.T) {
	if *recordAt == "" {
		t.Skip("no record is given")
	}
	f, err := os.Open(*recordAt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := ReadRecord(f)
	if err != nil {
		t.Fatal(err)
	}
	failure, err := Replay(t, lines)
	if err != nil {
		t.Fatal(err)
	}
	if failure != nil {
		t.Error(failure)
	}
}
