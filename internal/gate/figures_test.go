package gate

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const figuresFile = "testdata/figures.txt"

// figures are what was measured, by name.
type figures map[string]float64

const (
	// tolerance is how far a figure may be above what is written down.
	tolerance = 0.10
	// slack is added to that: a hundredth of an allocation, or two bytes, are no
	// regression where there is hardly one to begin with. What lies idle is
	// little more than goroutines, and what the runtime holds for those differs
	// from run to run.
	allocationSlack, byteSlack, idleSlack = 0.01, 2.0, 300.0
)

// limits are the most that a figure may be, and below what it is worth writing
// down.
func limits(name string, written float64) (limit, floor float64) {
	slack := byteSlack
	switch {
	case strings.HasPrefix(name, "allocations"), strings.HasPrefix(name, "goroutines"):
		slack = allocationSlack
	case strings.HasPrefix(name, "bytes of an idle"):
		slack = idleSlack
	}
	return written*(1+tolerance) + slack, written*(1-tolerance) - slack
}

// readFigures reads lines of a figure and its name, each behind "#" comments.
func readFigures(text []byte) (figures, error) {
	out := make(figures)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		value, name, _ := strings.Cut(line, " ")
		v, err := strconv.ParseFloat(value, 64)
		if name = strings.TrimSpace(name); err != nil || name == "" {
			return nil, fmt.Errorf("%q is not a figure and its name", line)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		out[name] = v
	}
	return out, nil
}

func (f figures) write(file string) error {
	var out bytes.Buffer
	fmt.Fprint(&out, "# What things cost. Written by go test ./internal/gate -update; see doc.go.\n")
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&out, "%10.3f %s\n", f[name], name)
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// compare returns what is dearer than written, or not written at all, and what
// is so much cheaper that it should be written down.
func (f figures) compare(written figures) (dearer, cheaper []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		want, ok := written[name]
		limit, floor := limits(name, want)
		switch got := f[name]; {
		case !ok:
			dearer = append(dearer, fmt.Sprintf("%s: %.3f, and no figure is written down", name, got))
		case got > limit:
			dearer = append(dearer, fmt.Sprintf("%s: %.3f, which is more than %.3f by over a tenth", name, got, want))
		case got < floor:
			cheaper = append(cheaper, fmt.Sprintf("%s: %.3f, which is less than %.3f by over a tenth", name, got, want))
		}
	}
	return dearer, cheaper
}

func TestFiguresAreReadAsTheyWereWritten(t *testing.T) {
	file := t.TempDir() + "/figures.txt"
	want := figures{"bytes of a thing": 1234.5, "allocations of a thing": 0.008}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readFigures(text)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"many bytes", "12", "1 a\n2 a"} {
		if _, err := readFigures([]byte(bad)); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

func TestATenthMoreIsARegressionAndATenthLessIsNews(t *testing.T) {
	written := figures{"bytes": 1000, "allocations": 5, "allocations, hardly any": 0.001}
	for _, c := range []struct {
		got             figures
		dearer, cheaper int
	}{
		{figures{"bytes": 1000, "allocations": 5, "allocations, hardly any": 0.001}, 0, 0},
		{figures{"bytes": 1101, "allocations": 5.5, "allocations, hardly any": 0.01}, 0, 0},
		{figures{"bytes": 1103, "allocations": 5.52, "allocations, hardly any": 0.02}, 3, 0},
		{figures{"bytes": 897, "allocations": 4.48, "allocations, hardly any": 0}, 0, 2},
		{figures{"bytes of something new": 1}, 1, 0},
	} {
		dearer, cheaper := c.got.compare(written)
		if len(dearer) != c.dearer || len(cheaper) != c.cheaper {
			t.Errorf("%v: dearer %v, cheaper %v", c.got, dearer, cheaper)
		}
	}
}
