package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be what the program is: its own children.
func TestMain(m *testing.M) {
	if isChild() {
		os.Exit(childMain())
	}
	goleak.VerifyTestMain(m)
}

// Every child checks what was delivered and stored, so a run that ends well has
// counted everything.
func TestAQuickRunMeasuresEveryContest(t *testing.T) {
	o, err := parse([]string{"-quick", "-only", "^(pipeline|watch|initial|growth)", "-n", "70", "-json", "-profile", t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := bench(o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	table := out.String()
	contests, err := choose(o)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, c := range contests {
		want += len(c.ours) * len(c.metrics)
		for _, m := range c.metrics {
			pattern := regexp.QuoteMeta(c.name) + "[^|]*: " + regexp.QuoteMeta(m.label) + ` *\| ` + regexp.QuoteMeta(m.unit) + ` +\| less +\| +[0-9.]+ \| +[0-9.]+ \|`
			if !regexp.MustCompile(pattern).MatchString(table) {
				t.Errorf("no line of %s: %s", c.name, m.label)
			}
		}
	}
	if got := strings.Count(table, "\n| ") - 1; got != want+1 {
		t.Errorf("%d lines in the table, want %d", got, want+1)
	}
	if t.Failed() {
		t.Log(table)
	}
	files, err := os.ReadDir(o.profile)
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, c := range contests {
		jobs += 1 + len(c.ours)
	}
	if len(files) != jobs {
		t.Errorf("%d profiles, want one of each of %d jobs", len(files), jobs)
	}
}

func TestTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		name, args, err string
		want            options
	}{
		{name: "has defaults", want: options{pods: 50000, events: 409600, objects: 100000, runs: 3}},
		{name: "rounds events up to whole stages", args: "-events 513", want: options{pods: 50000, events: 1024, objects: 100000, runs: 3}},
		{name: "makes a quick run small", args: "-quick", want: options{pods: 300, events: 512, objects: 300, runs: 1, quick: true}},
		{name: "keeps the sizes that were asked for", args: "-quick -n 20 -runs 2", want: options{pods: 20, events: 512, objects: 300, runs: 2, quick: true}},
		{name: "refuses no pods", args: "-n 0", err: "at least 1"},
		{name: "refuses no runs", args: "-runs 0", err: "at least 1"},
		{name: "refuses a bad pattern", args: "-only (", err: "-only"},
		{name: "refuses arguments", args: "pipeline", err: `"pipeline"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parse(strings.Fields(c.args), io.Discard)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one about %q", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestAPatternThatMatchesNothingNamesWhatThereIs(t *testing.T) {
	_, err := choose(options{pods: 1, events: stage, runs: 1, only: "nothing of the kind"})
	if err == nil || !strings.Contains(err.Error(), "pipeline, 1 handler") {
		t.Errorf("error %v does not name the contests", err)
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	_, err := runChild(job{Kind: "nonsense"})
	if err == nil || !strings.Contains(err.Error(), `unknown kind of job "nonsense"`) {
		t.Errorf("error %v does not tell what the child said", err)
	}
}
