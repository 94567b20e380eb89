package reflector

import (
	"slices"
	"strconv"
	"testing"

	"heliograph.example/deltafifo"
)

func TestARowGivesBackWhatWasPutIntoIt(t *testing.T) {
	for _, n := range []int{0, 1, 2, chunk - 1, chunk, chunk + 1, 3 * chunk, 3*chunk + 5} {
		for _, hole := range []func(i int) bool{
			func(int) bool { return false }, func(int) bool { return true }, func(i int) bool { return i%3 == 0 },
		} {
			for _, before := range [][]string{nil, {"x", "y"}} {
				var r row[object]
				var to []deltafifo.Delta[object]
				for _, version := range before {
					to = append(to, deltafifo.Delta[object]{Type: deltafifo.Deleted, Version: version})
				}
				want := slices.Clone(before)
				for i := range n {
					r.append(deltafifo.Delta[object]{Type: deltafifo.Added, Version: strconv.Itoa(i)})
				}
				for i := range n {
					if hole(i) {
						*r.at(i) = deltafifo.Delta[object]{}
					} else {
						want = append(want, strconv.Itoa(i))
					}
				}
				if r.len() != n {
					t.Errorf("%d deltas, want %d", r.len(), n)
				}
				var got []string
				for _, d := range r.drain(to) {
					got = append(got, d.Version)
				}
				if !slices.Equal(got, want) || r.len() != 0 {
					t.Errorf("%d deltas after %d: got %q, want %q", n, len(before), got, want)
				}
			}
		}
	}
}
