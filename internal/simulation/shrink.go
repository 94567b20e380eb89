package simulation

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Shrink leaves out of a record what the failure does not need, as far as fails
// says that it still happens. It leaves out:
//
//   - whole keys: their objects in lists, and their events, which become
//     bookmarks, so that the versions to resume from stay the same;
//   - requests with all that came of them, stops and starts, handlers and checks;
//   - bookmarks.
//
// What is left has to be a story that a server could have told. So no event is
// left out by itself, and not the last request that brought anything; a record in
// which the informer asks other questions than were answered is no record
// ([Replay] says so).
func Shrink(lines []Line, fails func([]Line) bool) []Line {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return l.Do == lineTold || l.Do == lineNote })
	if !fails(lines) {
		return lines
	}
	for _, key := range keysOf(lines) {
		if fewer := withoutKey(lines, key); fails(fewer) {
			lines = fewer
		}
	}
	lines = shrinkParts(lines, partsOf(lines), fails)
	return shrinkParts(lines, bookmarksOf(lines), fails)
}

func keysOf(lines []Line) []types.NamespacedName {
	keys := make(map[types.NamespacedName]bool)
	for i := range lines {
		if lines[i].Do == lineTruth {
			keys[lines[i].Truth.Key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), compareKeys)
}

// withoutKey is the record of a server that never had the key.
func withoutKey(lines []Line, key types.NamespacedName) []Line {
	var out []Line
	for _, l := range lines {
		if l.Do == lineTruth && l.Truth.Key == key {
			continue
		}
		l.Items = slices.DeleteFunc(slices.Clone(l.Items), func(it Item) bool { return it.Key == key })
		l.Events = slices.Clone(l.Events)
		for i := range l.Events {
			if l.Events[i].Key == key {
				l.Events[i] = Event{Type: bookmark, State: State{Version: l.Events[i].Version}}
			}
		}
		out = append(out, l)
	}
	return out
}

// shrinkParts leaves out parts, which are places in lines: half of them at once,
// then quarters, and so on (the algorithm ddmin without its complements).
func shrinkParts(lines []Line, parts [][]int, fails func([]Line) bool) []Line {
	gone := make(map[int]bool)
	for size := (len(parts) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(parts); {
			end := min(at+size, len(parts))
			try := maps.Clone(gone)
			for _, part := range parts[at:end] {
				for _, place := range part {
					try[place] = true
				}
			}
			if fails(without(lines, try)) {
				gone, parts = try, slices.Delete(parts, at, end)
			} else {
				at = end
			}
		}
	}
	return without(lines, gone)
}

func without(lines []Line, gone map[int]bool) []Line {
	var out []Line
	for i := range lines {
		if !gone[i] {
			out = append(out, lines[i])
		}
	}
	return out
}

// partsOf returns what can be left out: a watch with its events, a list with all
// its pages, or one line of anything else.
func partsOf(lines []Line) [][]int {
	var parts [][]int
	open := -1 // the request that the next events or the next page belong to
	news := -1 // the request that was the last to bring anything
	for i := range lines {
		l := &lines[i]
		more := l.Do == lineEvents || l.Do == lineList && l.Ask.Continue != ""
		switch {
		case l.Do == lineMirror || l.Do == lineTruth:
			continue
		case more && open >= 0:
			parts[open] = append(parts[open], i)
		default:
			if l.Do == lineWatch || l.Do == lineList {
				open = len(parts)
			}
			parts = append(parts, []int{i})
		}
		if len(l.Events) > 0 || l.Page != nil {
			news = open
		}
	}
	if news >= 0 {
		parts = slices.Delete(parts, news, news+1)
	}
	return parts
}

// bookmarksOf returns the lines that bring nothing but bookmarks of progress.
func bookmarksOf(lines []Line) [][]int {
	var parts [][]int
	for i := range lines {
		progress := func(e Event) bool { return e.Type == bookmark && !e.End }
		if events := lines[i].Events; len(events) > 0 && !slices.ContainsFunc(events, func(e Event) bool { return !progress(e) }) {
			parts = append(parts, []int{i})
		}
	}
	return parts
}

// sameFailure reports whether a replay has failed as it did before.
func sameFailure(want, got *Failure, err error) bool {
	var diverged *DivergedError
	return !errors.As(err, &diverged) && got != nil && got.Check == want.Check
}
