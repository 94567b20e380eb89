package clientgo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// replace is the edit that replaces old, wherever it stands.
func replace(old, with string) edit {
	return func(text string) (string, error) {
		if !strings.Contains(text, old) {
			return "", fmt.Errorf("nothing to replace: %q", old)
		}
		return strings.ReplaceAll(text, old, with), nil
	}
}

// drop is the edit that removes top-level declarations with their comments: a
// function, a type, a variable or constant that is declared alone, or a method as
// "Type.Method".
func drop(names ...string) edit {
	return func(text string) (string, error) {
		fset, file, err := parse(text)
		if err != nil {
			return "", err
		}
		left := slices.Clone(names)
		var gone []span
		for _, decl := range file.Decls {
			name, doc := declared(decl)
			if !slices.Contains(names, name) {
				continue
			}
			left = slices.DeleteFunc(left, func(n string) bool { return n == name })
			from := decl.Pos()
			if doc != nil {
				from = doc.Pos()
			}
			gone = append(gone, span{fset.Position(from).Offset, fset.Position(decl.End()).Offset})
		}
		if len(left) > 0 {
			return "", fmt.Errorf("nothing to drop: %v", left)
		}
		return cut(text, gone), nil
	}
}

// span is a part of a text.
type span struct{ from, to int }

// cut removes parts of a text, which are given in order.
func cut(text string, gone []span) string {
	for _, s := range slices.Backward(gone) {
		text = text[:s.from] + text[s.to:]
	}
	return text
}

// declared is the name of what a declaration declares, "" if that is several
// things, and its comment.
func declared(decl ast.Decl) (name string, doc *ast.CommentGroup) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name, d.Doc
		}
		return receiver(d.Recv.List[0].Type) + "." + d.Name.Name, d.Doc
	case *ast.GenDecl:
		if len(d.Specs) != 1 {
			return "", nil
		}
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return s.Name.Name, d.Doc
		case *ast.ValueSpec:
			return s.Names[0].Name, d.Doc
		}
	}
	return "", nil
}

// receiver is the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// importInstead is the edit that rewrites imports. It never has nothing to do.
func importInstead(paths map[string]string) edit {
	return func(text string) (string, error) {
		fset, file, err := parse(text)
		if err != nil {
			return "", err
		}
		for _, spec := range slices.Backward(file.Imports) {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return "", err
			}
			if with, ok := paths[path]; ok {
				from, to := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
				text = text[:from] + strconv.Quote(with) + text[to:]
			}
		}
		return text, nil
	}
}

// dropUnusedImports is the edit that removes imports that nothing uses. It never
// has nothing to do.
func dropUnusedImports(text string) (string, error) {
	fset, file, err := parse(text)
	if err != nil {
		return "", err
	}
	used := map[string]bool{"_": true, ".": true}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	var gone []span
	for _, spec := range file.Imports {
		name, err := importName(spec)
		if err != nil {
			return "", err
		}
		if used[name] {
			continue
		}
		gone = append(gone, span{fset.Position(spec.Pos()).Offset, fset.Position(spec.End()).Offset})
	}
	return cut(text, gone), nil
}

// version is the last element of the path of a module's later major versions.
var version = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// importName is the name of an imported package, which is taken to be that of its
// folder.
func importName(spec *ast.ImportSpec) (string, error) {
	if spec.Name != nil {
		return spec.Name.Name, nil
	}
	folder, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return "", err
	}
	if version.MatchString(path.Base(folder)) {
		folder = path.Dir(folder)
	}
	return path.Base(folder), nil
}

// tests are the names of the test functions of a file, but for TestMain.
func tests(text string) ([]string, error) {
	_, file, err := parse(text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

func parse(text string) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	return fset, file, err
}
