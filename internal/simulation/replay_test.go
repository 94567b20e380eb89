package simulation

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
)

// run is a seed that keeps every promise.
func run(t *testing.T, seed uint64) Outcome {
	t.Helper()
	out := Run(t, seed)
	if out.Failure != nil {
		t.Fatalf("seed %d: %v", seed, out.Failure)
	}
	return out
}

func TestARecordOfAGoodRunIsReplayedWithoutAFailure(t *testing.T) {
	for seed := range uint64(15) {
		out := run(t, seed)
		for _, name := range []string{"mirror0", "mirror1"} {
			failure, err := Replay(t, out.Record(name))
			if failure != nil || err != nil {
				t.Errorf("seed %d, %s: %v, %v (%s)", seed, name, failure, err, writeRecord(t, "replay-*.jsonl", out.Record(name)))
			}
		}
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	out := run(t, 3)
	lines := out.Record("mirror0")
	var text bytes.Buffer
	if err := WriteRecord(&text, lines); err != nil {
		t.Fatal(err)
	}
	read, err := ReadRecord(&text)
	if err != nil {
		t.Fatal(err)
	}
	// Empty slices and nil ones are the same in a record.
	var again, first bytes.Buffer
	if err := errors.Join(WriteRecord(&again, read), WriteRecord(&first, lines)); err != nil {
		t.Fatal(err)
	}
	if len(read) != len(lines) || !bytes.Equal(again.Bytes(), first.Bytes()) {
		t.Errorf("%d lines were read of %d, or others", len(read), len(lines))
	}
}

// forged changes one event of a record, and returns that; nil if forge did not
// change any.
func forged(lines []Line, forge func(*Event) bool) []Line {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Events = slices.Clone(lines[i].Events)
		for j := range lines[i].Events {
			if forge(&lines[i].Events[j]) {
				return lines
			}
		}
	}
	return nil
}

func TestAForgedRecordFailsAndIsShrunkToTheForgery(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(*Event) bool
		check string
	}{
		"a state that never was": {func(e *Event) bool {
			if e.Type != "Updated" {
				return false
			}
			e.Write = "forged"
			return true
		}, checkStore},
		"a delete that never was": {func(e *Event) bool {
			if e.Type != "Updated" {
				return false
			}
			e.Type = "Deleted"
			return true
		}, checkMixture},
		"a change that is missing": {func(e *Event) bool {
			if e.Type != "Updated" {
				return false
			}
			*e = Event{Type: bookmark, State: State{Version: e.Version}}
			return true
		}, checkMixture},
	} {
		t.Run(name, func(t *testing.T) {
			long := forgedRecord(t, c.forge)
			failure, err := Replay(t, long)
			if err != nil || failure == nil || failure.Check != c.check {
				t.Fatalf("the replay: %v, %v", failure, err)
			}
			tries := 0
			short := Shrink(long, func(lines []Line) bool {
				tries++
				again, err := Replay(t, lines)
				return sameFailure(failure, again, err)
			})
			again, err := Replay(t, short)
			if !sameFailure(failure, again, err) {
				t.Fatalf("the short record: %v, %v", again, err)
			}
			t.Logf("%d lines of %d are left after %d tries", len(short), len(long), tries)
			if len(short) > 40 {
				t.Errorf("%d lines of %d are left", len(short), len(long))
			}
		})
	}
}

// forgedRecord is one of a seed whose informers get such an event without
// gaps.
func forgedRecord(t *testing.T, forge func(*Event) bool) []Line {
	for seed := range uint64(50) {
		out := run(t, seed)
		for _, name := range []string{"mirror0", "mirror1"} {
			lines := out.Record(name)
			if slices.ContainsFunc(lines, func(l Line) bool { return l.Gaps }) {
				continue
			}
			if lines = forged(lines, forge); lines != nil {
				return lines
			}
		}
	}
	t.Fatal("no seed has such an event")
	return nil
}

func TestAReplayToldOfOtherAnswersSaysSo(t *testing.T) {
	out := run(t, 1)
	lines := slices.Clone(out.Record("mirror0"))
	for i := range lines {
		if lines[i].Ask != nil && lines[i].Ask.Version != "" {
			ask := *lines[i].Ask
			ask.Version += "0"
			lines[i].Ask = &ask
			break
		}
	}
	failure, err := Replay(t, lines)
	var diverged *DivergedError
	if failure != nil || !errors.As(err, &diverged) {
		t.Errorf("%v, %v", failure, err)
	}
}

func TestWithoutAKeyVersionsStay(t *testing.T) {
	out := run(t, 2)
	lines := out.Record("mirror0")
	key := keysOf(lines)[0]
	fewer := withoutKey(lines, key)
	if slices.Contains(keysOf(fewer), key) {
		t.Error("the key is still there")
	}
	versions := func(lines []Line) (all []uint64) {
		for _, l := range lines {
			for _, e := range l.Events {
				all = append(all, e.Version)
			}
		}
		return all
	}
	if !reflect.DeepEqual(versions(lines), versions(fewer)) {
		t.Error("the versions of the events have changed")
	}
}
