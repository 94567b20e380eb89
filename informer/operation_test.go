package informer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// TestTheGuideToOperationNamesEverything compares docs/operation.md with the code:
// every state, class of errors, field of a status and message of the log is in it.
func TestTheGuideToOperationNamesEverything(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "operation.md"))
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	expect := func(what, name string) {
		if !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("the guide does not name the %s %q", what, name)
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[informer.Status](), reflect.TypeFor[informer.HandlerStatus](), reflect.TypeFor[indexer.Stats](), reflect.TypeFor[indexer.IndexStats](), reflect.TypeFor[reflector.Status](),
	} {
		for _, field := range reflect.VisibleFields(of) {
			expect("field of "+of.String(), field.Name)
		}
	}
	states, messages := 0, 0
	for _, folder := range []string{"reflector", "informer", "controller"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				for _, state := range statesIn(n) {
					states++
					expect("state or class", state)
				}
				if message := messageIn(n); message != "" {
					messages++
					expect("message", message)
				}
				return true
			})
		}
	}
	if states < 18 || messages < 8 {
		t.Errorf("only %d states and classes and %d messages were found in the code", states, messages)
	}
}

// statesIn returns the constants of type State and ErrorClass that n declares.
func statesIn(n ast.Node) (out []string) {
	spec, ok := n.(*ast.ValueSpec)
	if !ok {
		return nil
	}
	if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "State" && of.Name != "ErrorClass" {
		return nil
	}
	for _, v := range spec.Values {
		if s := text(v); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// messageIn returns the message of a call that writes to a log of klog.
func messageIn(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case ok && method.Sel.Name == "Info" && len(call.Args) > 0:
		return text(call.Args[0])
	case ok && method.Sel.Name == "Error" && len(call.Args) > 1:
		return text(call.Args[1])
	}
	return ""
}

// text is the value of a string literal, or empty.
func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}
