package clientgo

import (
	"bytes"
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var subject = flag.String("subject", "heliograph", "whose packages upstream's tests are run on: heliograph or client-go")

var unfinished = flag.Bool("unfinished", false, "run upstream's tests also of packages in which some are known to fail")

// TestUpstream runs client-go's own tests of the packages of the table.
func TestUpstream(t *testing.T) {
	if *subject != "heliograph" && *subject != "client-go" {
		t.Fatalf("-subject is %q, and can be heliograph or client-go", *subject)
	}
	from, to := folder(t, theirs), folder(t, ours)
	sources := newOverlay(t)
	if *subject == "client-go" {
		for _, u := range table {
			if err := sources.takeSources(u, filepath.Join(from, u.Path), filepath.Join(to, u.Ours)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, u := range table {
		t.Run(u.Path, func(t *testing.T) {
			if u.Unfinished && !*unfinished {
				t.Skip("some of its tests are known to fail on ours; -unfinished runs them")
			}
			o := newOverlay(t)
			for path, file := range sources.Replace {
				o.Replace[path] = file
			}
			names, err := o.takeTests(u, filepath.Join(from, u.Path), filepath.Join(to, u.Ours))
			if err != nil {
				t.Fatal(err)
			}
			run(t, u, o, names)
		})
	}
}

// event is one line of the output of "go test -json".
type event struct {
	Action, Test, Output string
}

// run runs the tests of a package with an overlay, and has a subtest for each.
func run(t *testing.T, u upstream, o *overlay, names []string) {
	t.Helper()
	file, err := o.write()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-race", "-vet=off", "-count=1",
		"-timeout", u.Timeout.String(), "-overlay", file, ours+"/"+u.Ours)
	out, failure := cmd.CombinedOutput()
	results, outputs := map[string]string{}, map[string]string{}
	for line := range bytes.Lines(out) {
		e := event{}
		if err := json.Unmarshal(line, &e); err != nil {
			e.Output = string(line) // of the go command itself
		}
		top, _, _ := strings.Cut(e.Test, "/")
		outputs[top] += e.Output
		if top != "" && top == e.Test && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			results[top] = e.Action
		}
	}
	if len(results) == 0 {
		t.Fatalf("no test was run: %v: %v\n%s", cmd, failure, outputs[""])
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			switch results[name] {
			case "pass":
			case "skip":
				t.Skip(outputs[name])
			case "fail":
				t.Error(outputs[name])
			default:
				t.Errorf("it was not run, or did not end: %s", outputs[name])
			}
		})
	}
	if failure != nil {
		t.Errorf("%v: %v\n%s", cmd, failure, outputs[""])
	}
	t.Logf("%d tests run, %d left out", len(names), len(u.Skips))
}
