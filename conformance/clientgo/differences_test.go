package clientgo

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestEachDifferenceOfANameIsFound: what TestTheExportedNamesAreThere must not let
// through. The first text is client-go's, the second ours.
func TestEachDifferenceOfANameIsFound(t *testing.T) {
	for name, row := range map[string]struct{ theirs, ours, want string }{
		"nothing":                    {`func X(a, b int) error { return nil }`, `func X(a int, c int) (err error) { return nil }`, ""},
		"the name of any":            {`func X(any) {}`, `func X(interface{}) {}`, ""},
		"a name":                     {`func X() {}`, `func Y() {}`, "missing"},
		"a kind":                     {`func X() {}`, `var X func()`, "*types.Var"},
		"a parameter":                {`func X(a int) {}`, `func X(a int64) {}`, "func(int64)"},
		"a variadic parameter":       {`func X(a ...int) {}`, `func X(a []int) {}`, "func([]int)"},
		"a constraint":               {`func X[T any](T) {}`, `func X[T comparable](T) {}`, "[comparable]"},
		"no name of a parameter":     {`type X[t any] struct{ F t }`, `type X[T any] struct{ F T }`, ""},
		"a constant":                 {`const X = 1`, `const X = 2`, "is 2"},
		"a field":                    {`type X struct{ F int }`, `type X struct{ f int }`, "no field F"},
		"the type of a field":        {`type X struct{ F int }`, `type X struct{ F string }`, "field F"},
		"a method":                   {`type X struct{}; func (X) M() {}`, `type X struct{}; func (X) m() {}`, "no method M"},
		"the receiver of a method":   {`type X struct{}; func (X) M() {}`, `type X struct{}; func (*X) M() {}`, "no method M"},
		"the type of a method":       {`type X struct{}; func (*X) M() {}`, `type X struct{}; func (*X) M() int { return 0 }`, "method M"},
		"a method of an interface":   {`type X interface{ M() }`, `type X interface{ M(); N() }`, "N()"},
		"nothing but a further name": {`type X struct{ f int }`, `type X struct{ F int; g int }; func (X) M() {}`, ""},
		"an element":                 {`type X []int`, `type X []string`, "[]string"},
	} {
		t.Run(name, func(t *testing.T) {
			got := difference(lookup(t, row.theirs), lookup(t, row.ours))
			if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// lookup type-checks declarations and returns X, nil if there is none.
func lookup(t *testing.T, declarations string) types.Object {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", "package p; "+declarations, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.Default()}
	p, err := config.Check("p", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Scope().Lookup("X")
}
