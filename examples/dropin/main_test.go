package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBothControllersDoTheSameOnAServer(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"over client-go: 10 namespaces have their ConfigMap",
		"over Heliograph: 10 namespaces have their ConfigMap",
		`- "k8s.io/client-go/tools/cache"`,
		`+ "heliograph.example/clientgo/cache"`,
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the output does not say %q:\n%s", line, out.String())
		}
	}
}

// parts are the imports of a file and all the rest of it.
func parts(t *testing.T, text string) (imports []string, rest string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imports = append(imports, spec.Path.Value)
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		general, ok := d.(*ast.GenDecl)
		return ok && general.Tok == token.IMPORT
	})
	var out bytes.Buffer
	if err := printer.Fprint(&out, files, file.Decls); err != nil {
		t.Fatal(err)
	}
	return imports, out.String()
}

func TestTheControllersDifferInNothingButThreeImports(t *testing.T) {
	beforeImports, beforeRest := parts(t, beforeText)
	afterImports, afterRest := parts(t, afterText)
	if beforeRest != afterRest {
		t.Error("they differ in more than their imports")
	}
	if len(beforeImports) != len(afterImports) {
		t.Errorf("one has %d imports and the other %d", len(beforeImports), len(afterImports))
	}
	moved := 0
	for _, path := range beforeImports {
		if !slices.Contains(afterImports, path) {
			moved++
		}
	}
	if lines := difference(beforeText, afterText); moved != 3 || len(lines) != 6 {
		t.Errorf("%d imports differ, and the lines are %q", moved, lines)
	}
}
