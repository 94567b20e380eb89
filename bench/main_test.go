package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
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
	o, err := parse([]string{"-quick", "-only", "^(pipeline|watch|one|initial|growth|idle|relist|a|store|queue)", "-n", "70", "-json", "-profile", t.TempDir()}, io.Discard)
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
			pattern := regexp.QuoteMeta(c.name) + "[^|]*: " + regexp.QuoteMeta(m.label) + ` *\| ` + regexp.QuoteMeta(m.unit) + ` +\| +-?[0-9.]+ \| +-?[0-9.]+ \|`
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

func TestOnlyAWholeRunIsWrittenDown(t *testing.T) {
	whole, err := parse([]string{"-document", "performance.md"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.isWhole(); err != nil {
		t.Errorf("a run of all there is: %v", err)
	}
	for _, part := range []string{"-only queue", "-quick", "-n 400", "-runs 1", "-events 512", "-objects 9"} {
		o, err := parse(strings.Fields(part), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if o.isWhole() == nil {
			t.Errorf("a run with %s passes for a whole one", part)
		}
	}
	file := filepath.Join(t.TempDir(), "performance.md")
	part, err := parse([]string{"-quick", "-only", "server, start", "-document", file}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	if err := bench(part, io.Discard, &progress); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || !strings.Contains(progress.String(), "stays as it is") {
		t.Errorf("a partial run has written a document (%v), or does not say that it did not: %s", err, progress.String())
	}
	h := newHeader(whole)
	if err := writeDocument(file, h, []row{{measure: "walk", metric: metric{label: "CPU"}, theirs: []float64{10}, ours: []float64{2}}}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "| walk: CPU") || !strings.Contains(string(text), "machine: ") {
		t.Errorf("the document lacks its table or its header: %v\n%s", err, text)
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
