package storage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// parse reads the files in a folder of which keep takes the name.
func parse(t *testing.T, dir string, keep func(name string) bool) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if !keep(filepath.Base(name)) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// offered are the functions that the suite exports for others to run.
func offered(t *testing.T) map[string]bool {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/apiserver/pkg/storage/testing").Output()
	if err != nil {
		t.Fatalf("where is the suite: %v", err)
	}
	names := map[string]bool{}
	for _, file := range parse(t, strings.TrimSpace(string(dir)), func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Run") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// called are the functions of the suite that suite_test.go calls.
func called(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range parse(t, ".", func(name string) bool { return name == "suite_test.go" }) {
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Run") {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "suite" {
					names[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func TestNothingIsForgotten(t *testing.T) {
	all, calls := offered(t), called(t)
	// That the source was found and understood, and not something else.
	for _, name := range []string{"RunTestCreate", "RunTestWatch", "RunBenchmarkStoreList"} {
		if !all[name] {
			t.Fatalf("the source of the suite has no function %s", name)
		}
	}
	listed := map[string]bool{}
	for _, test := range wired {
		if listed[test.name] || !calls[test.name] {
			t.Errorf("%s has two lines, or one that does not call it", test.name)
		}
		if test.storeOnly != "" && test.cacheOnly != "" {
			t.Errorf("%s judges nothing", test.name)
		}
		listed[test.name] = true
	}
	if !maps.Equal(listed, calls) {
		t.Errorf("%d functions have a line, %d are called", len(listed), len(calls))
	}
	for name, reason := range leftOut {
		if listed[name] || reason == "" {
			t.Errorf("%s is both wired and left out, or left out without a reason", name)
		}
		listed[name] = true
	}
	for name := range all {
		if !listed[name] {
			t.Errorf("%s is neither wired nor left out", name)
		}
	}
	for name := range listed {
		if !all[name] {
			t.Errorf("the suite has no function %s any more", name)
		}
	}
	t.Logf("of %d functions %d are wired and %d left out", len(all), len(wired), len(leftOut))
}
