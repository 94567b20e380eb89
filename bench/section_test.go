package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The children check that every object was read, so a run that ends well has
// counted everything.
func TestAQuickRunOfTheServerHalfPrintsEveryFigure(t *testing.T) {
	o, err := parse([]string{"-quick", "-only", "server", "-objects", "700", "-profile", t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := bench(o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	want := []string{"goroutines of an idle server", "memory per object, stored and in the watch cache",
		"an idle watcher: heap", "a delivered event: CPU"}
	for _, m := range startMetrics {
		want = append(want, m.label)
	}
	for _, r := range reads {
		want = append(want, r.name, r.name+": CPU")
	}
	for _, label := range want {
		if !regexp.MustCompile(`\n\| ` + regexp.QuoteMeta(label) + ` +\| [^|]+ \| +-?[0-9.]+ \|`).MatchString(out.String()) {
			t.Errorf("no figure of %s", label)
		}
	}
	if strings.Contains(out.String(), "ratio |") {
		t.Error("there is a table of contests, though none was asked for")
	}
	if t.Failed() {
		t.Log(out.String())
	}
	files, err := os.ReadDir(o.profile)
	if err != nil || len(files) != 4 {
		t.Errorf("%d profiles, want one of the heap in each of 3 states and one of a server with watchers: %v", len(files), err)
	}
}

func TestASectionIsATable(t *testing.T) {
	var out bytes.Buffer
	table{"tea", []figure{{"cups", "count", 2}, {"warmth of a cup", "K", 330.4}}}.print(&out)
	const want = `
| tea             | unit  | figure |
| --------------- | ----- | -----: |
| cups            | count |   2.00 |
| warmth of a cup | K     |    330 |
`
	if got := out.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestAPatternOfASectionNeedsNoContest(t *testing.T) {
	for _, s := range sections {
		contests, err := choose(options{only: regexp.QuoteMeta(s.name)})
		if err != nil || len(contests) > 0 {
			t.Errorf("%q: %d contests, %v", s.name, len(contests), err)
		}
	}
}
