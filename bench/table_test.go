package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestTheTableShowsMediansTargetsAndLosses(t *testing.T) {
	var out bytes.Buffer
	printTable(&out, []row{
		{measure: "queue", metric: metric{label: "fill with 100k keys", unit: "ns"}, theirs: []float64{9, 10, 12}, ours: []float64{12.5, 12.4, 12.6}},
		{measure: "run, uphill", metric: metric{label: "bytes", unit: "B"}, theirs: []float64{100}, ours: []float64{125}},
	})
	const want = `| measure                    | unit | other | heliograph |      ratio |     spread | at least |  aim | met |
| -------------------------- | ---- | ----: | ---------: | ---------: | ---------: | -------: | ---: | --: |
| queue: fill with 100k keys | ns   |  10.0 |       12.5 | 0.80x LOSS | ±15% / ±1% |     0.8x | 1.2x | yes |
| run, uphill: bytes         | B    |   100 |        125 | 0.80x LOSS |      - / - |          |      |     |
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLossesAndWhatFallsShortIsExplained(t *testing.T) {
	var out bytes.Buffer
	printReasons(&out, []row{
		{measure: "walk", metric: metric{label: "CPU"}, theirs: []float64{10}, ours: []float64{2}},
		{measure: "walk", metric: metric{label: "bytes"}, theirs: []float64{10}, ours: []float64{20}},
		{measure: "store of 100k", metric: metric{label: "ByIndex of 100"}, theirs: []float64{10}, ours: []float64{5}},
	})
	for text, want := range map[string]bool{"walk: CPU": false, "walk: bytes": true, "store of 100k: ByIndex of 100": true} {
		if got := strings.Contains(out.String(), text); got != want {
			t.Errorf("%s is explained: %v, want %v", text, got, want)
		}
	}
}

func TestWhatARowHasReached(t *testing.T) {
	for _, c := range []struct {
		target       target
		theirs, ours float64
		want         string
	}{
		{target{}, 1, 2, ""},
		{times(2, 3), 6, 2, "aim"}, {times(2, 3), 5, 2, "yes"}, {times(2, 3), 3.9, 2, notMet}, {times(2, 3), 1, 0, "aim"},
		{atMost(2, 1), 1, 1, "aim"}, {atMost(2, 1), 9, 2, "yes"}, {atMost(2, 1), 9, 2.1, notMet},
	} {
		if got := c.target.met(c.theirs, c.ours); got != c.want {
			t.Errorf("%+v with %v and %v: %q, want %q", c.target, c.theirs, c.ours, got, c.want)
		}
	}
}

// A name that is spelled differently would be a target that nobody looks at.
func TestTargetsAndReasonsNameRows(t *testing.T) {
	whole, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, c := range allContests(whole) {
		for _, e := range c.ours {
			for _, m := range c.metrics {
				name := row{measure: c.measure(e), metric: m}.name()
				if rows[name] {
					t.Errorf("two rows are called %q", name)
				}
				rows[name] = true
			}
		}
	}
	for name := range targets {
		if !rows[name] {
			t.Errorf("no row is called %q, but there is a target for it", name)
		}
	}
	for name := range reasons {
		if !rows[name] {
			t.Errorf("no row is called %q, but it is explained", name)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name string
		of   []float64
		want float64
	}{
		{"of nothing is zero", nil, 0},
		{"of one is that one", []float64{7}, 7},
		{"of an odd number is the middle one", []float64{9, 1, 5}, 5},
		{"of an even number is the mean of two", []float64{4, 1, 100, 2}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := append([]float64(nil), c.of...)
			if got := median(c.of); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for i := range before {
				if before[i] != c.of[i] {
					t.Error("the samples were put in another order")
				}
			}
		})
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		theirs, ours float64
		want         string
	}{
		{10, 4, "2.50x"}, {4, 10, "0.40x LOSS"}, {1, 1, "1.00x"}, {999, 1000, "1.00x"}, {99, 100, "0.99x LOSS"}, {1, 0, "-"}, {0, 1, "0.00x LOSS"}, {0, 0, "-"},
	} {
		if got := ratio(c.theirs, c.ours); got != c.want {
			t.Errorf("ratio(%v, %v) is %q, want %q", c.theirs, c.ours, got, c.want)
		}
	}
}

func TestNumbersKeepThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000", 0.0084: "0.008", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 13607: "13607"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) is %q, want %q", v, got, want)
		}
	}
}
