package clientgo

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestTheExportedNamesAreThere compares what client-go's packages export with what
// ours do: each name is there, is the same kind of thing, and has the same type but for
// the path of the package. What differs is in the table, with its reason.
func TestTheExportedNamesAreThere(t *testing.T) {
	for _, u := range table {
		t.Run(u.Path, func(t *testing.T) {
			loaded := load(t, theirs+"/"+u.Path, ours+"/"+u.Ours)
			scope := loaded[theirs+"/"+u.Path].Scope()
			count := 0
			for _, name := range scope.Names() {
				if !scope.Lookup(name).Exported() {
					continue
				}
				count++
				listed := slices.ContainsFunc(u.Differs, func(s skip) bool { return s.Name == name })
				diff := difference(scope.Lookup(name), loaded[ours+"/"+u.Ours].Scope().Lookup(name))
				switch {
				case diff != "" && !listed:
					t.Errorf("%s %s", name, diff)
				case diff == "" && listed:
					t.Errorf("%s does not differ, and the table says that it does", name)
				}
			}
			for _, s := range u.Differs {
				if o := scope.Lookup(s.Name); o == nil || !o.Exported() {
					t.Errorf("the table has %s, which client-go has not", s.Name)
				}
			}
			t.Logf("%d names, %d of them differ", count, len(u.Differs))
		})
	}
}

// TestOurPackagesAreImported: the go command keeps the result of a test until
// something changes that the test is built from.
func TestOurPackagesAreImported(t *testing.T) {
	b, err := os.ReadFile("imports_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range table {
		if !strings.Contains(string(b), `"`+ours+"/"+u.Ours+`"`) {
			t.Errorf("imports_test.go does not import %s/%s", ours, u.Ours)
		}
	}
}

// load loads the types of packages, which all share those of what they import.
func load(t *testing.T, paths ...string) map[string]*types.Package {
	t.Helper()
	found, err := packages.Load(&packages.Config{
		Context: t.Context(),
		Mode:    packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
	}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	loaded := map[string]*types.Package{}
	for _, p := range found {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, e)
		}
		loaded[p.PkgPath] = p.Types
	}
	return loaded
}

// difference says how b differs from a, "" if it does not.
func difference(a, b types.Object) string {
	if b == nil {
		return "is missing"
	}
	if got, want := fmt.Sprintf("%T", b), fmt.Sprintf("%T", a); got != want {
		return fmt.Sprintf("is a %s, want a %s", got, want)
	}
	if got, want := parameters(b.Type()), parameters(a.Type()); got != want {
		return fmt.Sprintf("has the type parameters [%s], want [%s]", got, want)
	}
	switch a := a.(type) {
	case *types.Const:
		if got := b.(*types.Const).Val(); !constant.Compare(a.Val(), token.EQL, got) {
			return fmt.Sprintf("is %v, want %v", got, a.Val())
		}
	case *types.TypeName:
		return typeDifference(instance(a.Type()), instance(b.Type()))
	}
	return textDifference("is", instance(a.Type()), instance(b.Type()))
}

// typeDifference says what b lacks to take the place of a. A type of ours must have
// the exported fields and methods of theirs, and may have more methods; an interface
// must be the same.
func typeDifference(a, b types.Type) string {
	a, b = types.Unalias(a), types.Unalias(b)
	if types.Identical(a, b) {
		return ""
	}
	if types.IsInterface(a) {
		return textDifference("is", a.Underlying(), b.Underlying())
	}
	if fields, ok := a.Underlying().(*types.Struct); ok {
		own, ok := b.Underlying().(*types.Struct)
		if !ok {
			return "is no struct"
		}
		for field := range fields.Fields() {
			if !field.Exported() {
				continue
			}
			i := slices.IndexFunc(slices.Collect(own.Fields()), func(f *types.Var) bool { return f.Name() == field.Name() })
			if i < 0 {
				return "has no field " + field.Name()
			}
			if diff := textDifference("has a field "+field.Name()+", which is", field.Type(), own.Field(i).Type()); diff != "" {
				return diff
			}
		}
	} else if diff := textDifference("is", a.Underlying(), b.Underlying()); diff != "" {
		return diff
	}
	for _, depth := range []func(types.Type) types.Type{
		func(t types.Type) types.Type { return t },
		func(t types.Type) types.Type { return types.NewPointer(t) },
	} {
		own := types.NewMethodSet(depth(b))
		for method := range types.NewMethodSet(depth(a)).Methods() {
			name := method.Obj().Name()
			if !method.Obj().Exported() {
				continue
			}
			other := own.Lookup(nil, name)
			if other == nil {
				return "has no method " + name
			}
			if diff := textDifference("has a method "+name+", which is", method.Type(), other.Type()); diff != "" {
				return diff
			}
		}
	}
	return ""
}

// textDifference compares types as they are written, with the paths of our packages.
func textDifference(what string, a, b types.Type) string {
	if got, want := text(b), text(a); got != want {
		return fmt.Sprintf("%s %s, want %s", what, got, want)
	}
	return ""
}

func text(t types.Type) string {
	if f, ok := t.(*types.Signature); ok {
		t = types.NewSignatureType(nil, nil, nil, nameless(f.Params()), nameless(f.Results()), f.Variadic())
	}
	places := inPlace()
	written := types.TypeString(t, func(p *types.Package) string {
		if instead, ok := places[p.Path()]; ok {
			return instead
		}
		return p.Path()
	})
	return strings.ReplaceAll(written, "interface{}", "any") // two ways to write one type
}

// nameless are parameters or results without their names.
func nameless(vars *types.Tuple) *types.Tuple {
	var all []*types.Var
	for v := range vars.Variables() {
		all = append(all, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
	}
	return types.NewTuple(all...)
}

// typeParams are the type parameters of a type or a function.
func typeParams(t types.Type) *types.TypeParamList {
	switch t := t.(type) {
	case *types.Alias:
		return t.TypeParams()
	case *types.Named:
		return t.TypeParams()
	case *types.Signature:
		return t.TypeParams()
	}
	return nil
}

// parameters are the constraints of the type parameters.
func parameters(t types.Type) string {
	var all []string
	for p := range typeParams(t).TypeParams() {
		all = append(all, text(p.Constraint()))
	}
	return strings.Join(all, ", ")
}

// instance gives a generic type arguments, so that the names of its parameters do not
// count: each gets its own constraint.
func instance(t types.Type) types.Type {
	var arguments []types.Type
	for p := range typeParams(t).TypeParams() {
		arguments = append(arguments, p.Constraint())
	}
	if len(arguments) == 0 {
		return t
	}
	made, err := types.Instantiate(nil, t, arguments, false)
	if err != nil {
		panic(err) // the number of arguments is right
	}
	return made
}
