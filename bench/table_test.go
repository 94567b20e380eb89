package main

import (
	"bytes"
	"testing"
)

func TestTheTableShowsMediansAndLosses(t *testing.T) {
	var out bytes.Buffer
	printTable(&out, []row{
		{measure: "walk", metric: metric{label: "CPU", unit: "µs"}, theirs: []float64{9, 10, 12}, ours: []float64{2.5, 2.4, 2.6}},
		{measure: "run, uphill", metric: metric{label: "bytes", unit: "B"}, theirs: []float64{100}, ours: []float64{125}},
	})
	const want = `| measure            | unit | better | client-go | heliograph |      ratio |     spread |
| ------------------ | ---- | ------ | --------: | ---------: | ---------: | ---------: |
| walk: CPU          | µs   | less   |      10.0 |       2.50 |      4.00x | ±15% / ±4% |
| run, uphill: bytes | B    | less   |       100 |        125 | 0.80x LOSS |      - / - |
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
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
		{10, 4, "2.50x"}, {4, 10, "0.40x LOSS"}, {1, 1, "1.00x"}, {999, 1000, "1.00x"}, {99, 100, "0.99x LOSS"}, {1, 0, "-"}, {0, 1, "-"},
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
