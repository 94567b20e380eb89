package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Every task checks that it got every object and every event, so a comparison
// that ends well has counted everything.
func TestAComparisonFillsEveryLine(t *testing.T) {
	var ends [2]endpoint
	for i := range ends {
		e, stop, err := startOurs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		ends[i] = e
	}
	o := options{objects: 60, writes: 70, watches: 3, rounds: 2}
	rows, err := compare(t.Context(), o, ends[0], ends[1], io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if want := len(r.theirs); want == 0 || len(r.ours) != want {
			t.Errorf("%s: %d and %d samples", r.name, len(r.theirs), len(r.ours))
		}
		if r.more && (median(r.theirs) <= 0 || median(r.ours) <= 0) {
			t.Errorf("%s: nothing was counted: %v, %v", r.name, r.theirs, r.ours)
		}
		if r.more && len(r.ours) != o.rounds {
			t.Errorf("%s: %d samples, want one of each of %d rounds", r.name, len(r.ours), o.rounds)
		}
	}
	if want := 2 + 2*len(tasks(o)) + 1; len(rows) != want {
		t.Errorf("%d lines, want %d", len(rows), want)
	}
	if theirs, ours := rows[0].theirs[0], rows[0].ours[0]; theirs-ours > 1 || ours-theirs > 1 { // versions differ in length
		t.Errorf("objects of %v and %v bytes on two equal servers", theirs, ours)
	}
}

func TestTheTableSaysWhatIsBetterAndMarksLosses(t *testing.T) {
	var out bytes.Buffer
	printRows(&out, []row{
		{name: "lists", unit: "objects/s", more: true, theirs: []float64{100, 90, 120}, ours: []float64{250, 250, 260}},
		{name: "writes", unit: "writes/s", more: true, theirs: []float64{100}, ours: []float64{80}},
		{name: "CPU", unit: "µs each", theirs: []float64{4}, ours: []float64{16}},
		{name: "size", unit: "B", equal: true, theirs: []float64{400}, ours: []float64{401}},
	})
	const want = `| measure | unit      | better | kube-apiserver | heliograph |      ratio |     spread |
| ------- | --------- | ------ | -------------: | ---------: | ---------: | ---------: |
| lists   | objects/s | more   |            100 |        250 |      2.50x | ±15% / ±2% |
| writes  | writes/s  | more   |            100 |       80.0 | 0.80x LOSS |      - / - |
| CPU     | µs each   | less   |           4.00 |       16.0 | 0.25x LOSS |      - / - |
| size    | B         | equal  |            400 |        401 |          - |      - / - |
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheCommandLine(t *testing.T) {
	for args, problem := range map[string]string{
		"":                 "",
		"-n 100 -rounds 1": "",
		"-n 7":             "-n must be",
		"-watches 0":       "at least 1",
		"more":             `"more"`,
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%q: %v, want %q", args, err, problem)
		}
	}
}

func TestUsageCountsWhatRunsBelowAProcess(t *testing.T) {
	// The shell waits for a child, which is ended by the end of its input.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "cat; true")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	// Once it has answered, the child is there.
	if _, err := io.WriteString(in, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	whole, err := readUsage(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := parseStat(line)
	if err != nil {
		t.Fatal(err)
	}
	if alone.resident <= 0 || whole.resident <= alone.resident {
		t.Errorf("%v bytes with its child, %v alone", whole.resident, alone.resident)
	}
}

func TestALineOfStatIsReadBehindTheNameOfTheProgram(t *testing.T) {
	const line = "7 (a) b (c) S 1 7 7 0 -1 0 1 2 3 4 30 12 0 0 20 0 5 0 100 4096 3 99 1 1\n"
	u, err := parseStat([]byte(line))
	if err != nil || u.cpu != 420*time.Millisecond || u.resident != float64(3*os.Getpagesize()) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []string{"", "7 (a) S 1", strings.Replace(line, " 30 ", " x ", 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
