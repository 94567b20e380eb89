package clientgo

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	theirs = "k8s.io/client-go"
	ours   = "heliograph.example"
)

// probes is the one test file of ours that stays among upstream's: what only their
// tests need.
const probes = "export_test.go"

// overlay replaces files for the go command.
type overlay struct {
	// Replace has the file to be read for each that is replaced, "" where
	// there is to be none.
	Replace map[string]string

	folder string // where what is read lies
}

func newOverlay(t *testing.T) *overlay {
	return &overlay{Replace: map[string]string{}, folder: t.TempDir()}
}

// put lets a file have a text.
func (o *overlay) put(path, text string) error {
	file := filepath.Join(o.folder, fmt.Sprintf("%d_%s", len(o.Replace), filepath.Base(path)))
	o.Replace[path] = file
	return os.WriteFile(file, []byte(text), 0o600)
}

// hide removes the Go files of a folder for which which holds.
func (o *overlay) hide(folder string, which func(name string) bool) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if which(filepath.Base(file)) {
			o.Replace[file] = ""
		}
	}
	return nil
}

// write writes the overlay for the go command, and returns the file.
func (o *overlay) write() (string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	file := filepath.Join(o.folder, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// takeTests lets upstream's tests of a package take the place of ours, and returns
// the names of those that are there to be run.
func (o *overlay) takeTests(u upstream, from, to string) ([]string, error) {
	if err := o.hide(to, func(name string) bool {
		return strings.HasSuffix(name, "_test.go") && name != probes
	}); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(from, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var names, skipped []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text, run, skips, err := u.edited(filepath.Base(file), string(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		skipped = append(skipped, skips...)
		if len(run) == 0 && len(skips) > 0 {
			continue
		}
		names = append(names, run...)
		if err := o.put(filepath.Join(to, "upstream_"+filepath.Base(file)), text); err != nil {
			return nil, err
		}
	}
	for _, s := range u.Skips {
		if !slices.Contains(skipped, s.Name) {
			return nil, fmt.Errorf("there is no %s to be left out", s.Name)
		}
	}
	return names, nil
}

// edited is the text of a test file after its edits, without what is left out, and
// says which tests it has then and which are left out.
func (u upstream) edited(file, text string) (edited string, run, skipped []string, err error) {
	if run, err = tests(text); err != nil {
		return "", nil, nil, err
	}
	edits := slices.Clone(u.Edits[file])
	_, parsed, err := parse(text)
	if err != nil {
		return "", nil, nil, err
	}
	for _, decl := range parsed.Decls {
		name, _ := declared(decl)
		if slices.ContainsFunc(u.Skips, func(s skip) bool { return s.Name == name }) {
			edits = append(edits, drop(name))
			skipped = append(skipped, name)
			run = slices.DeleteFunc(run, func(n string) bool { return n == name })
		}
	}
	for _, e := range append(edits, importInstead(inPlace()), dropUnusedImports) {
		if text, err = e(text); err != nil {
			return "", nil, nil, err
		}
	}
	return text, run, skipped, nil
}

// takeSources lets client-go's sources of a package take the place of ours.
func (o *overlay) takeSources(u upstream, from, to string) error {
	if err := o.hide(to, func(string) bool { return true }); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	probe := filepath.Join("testdata", filepath.Base(u.Ours), probes)
	if _, err := os.Stat(probe); err == nil {
		files = append(files, probe)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_test.go") && name != probes {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, err := importInstead(inPlace())(string(b))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := o.put(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

// inPlace has the import path of the package that takes the place of another.
func inPlace() map[string]string {
	paths := map[string]string{}
	for _, u := range table {
		paths[theirs+"/"+u.Path] = ours + "/" + u.Ours
	}
	return paths
}

// folder is that of a module.
func folder(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("where is %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}
