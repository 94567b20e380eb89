package clientgo

import "testing"

func TestAnEditChangesWhatItIsToChange(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"fmt\"\n\tother \"strings\"\n)\n"
	for name, row := range map[string]struct {
		edit       edit
		text, want string
	}{
		"replace":               {replace("old", "new"), "old, older", "new, newer"},
		"replace nothing":       {replace("old", "new"), "x", "error"},
		"drop a function":       {drop("F"), "package p\n\n// F is.\nfunc F() {}\n\nvar F1 int\n", "package p\n\n\n\nvar F1 int\n"},
		"drop a method":         {drop("T.M"), "package p\nfunc (t *T[K]) M() {}\nfunc M() {}\n", "package p\n\nfunc M() {}\n"},
		"drop a type and a var": {drop("T", "V"), "package p\ntype T int\nvar V T\n", "package p\n\n\n"},
		"drop nothing":          {drop("F"), "package p\nfunc G() {}\n", "error"},
		"drop from no Go":       {drop("F"), "x", "error"},
		"import instead": {
			importInstead(map[string]string{"fmt": "ours/fmt"}), head,
			"package p\n\nimport (\n\t\"ours/fmt\"\n\tother \"strings\"\n)\n",
		},
		"drop unused imports": {
			dropUnusedImports, head + "var _ = other.ToUpper\n",
			"package p\n\nimport (\n\t\n\tother \"strings\"\n)\nvar _ = other.ToUpper\n",
		},
		"keep an import of a major version": {
			dropUnusedImports, "package p\nimport \"a/klog/v2\"\nvar _ = klog.Info\n", "package p\nimport \"a/klog/v2\"\nvar _ = klog.Info\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row.edit(row.text)
			if err != nil {
				got = "error"
			}
			if got != row.want {
				t.Errorf("%q (%v), want %q", got, err, row.want)
			}
		})
	}
}
