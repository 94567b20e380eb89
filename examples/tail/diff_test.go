package main

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestADifferenceNamesItsField(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"none":             {`{a: 1}`, `{a: 1}`, nil},
		"a value":          {`{a: {b: 1}}`, `{a: {b: 2}}`, []string{"~ .a.b: 1 -> 2"}},
		"a field more":     {`{a: {}}`, `{a: {b: x}}`, []string{`+ .a.b: "x"`}},
		"a field less":     {`{a: {b: [1]}}`, `{a: {}}`, []string{`- .a.b: [1]`}},
		"another type":     {`{a: 1}`, `{a: {b: 1}}`, []string{`~ .a: 1 -> {"b":1}`}},
		"null":             {`{a: null}`, `{a: 1}`, []string{`~ .a: null -> 1`}},
		"items by name":    {`{c: [{name: x, v: 1}, {name: z, v: 1}]}`, `{c: [{name: z, v: 2}]}`, []string{`- .c[name=x]: {"name":"x","v":1}`, `~ .c[name=z].v: 1 -> 2`}},
		"items by type":    {`{c: [{type: Ready, status: "False"}]}`, `{c: [{type: Ready, status: "True"}]}`, []string{`~ .c[type=Ready].status: "False" -> "True"`}},
		"items by place":   {`{c: [1, 2]}`, `{c: [1, 3, 4]}`, []string{"~ .c[0001]: 2 -> 3", "+ .c[0002]: 4"}},
		"names used twice": {`{c: [{name: x}, {name: x}]}`, `{c: [{name: x}]}`, nil},
		"noise":            {`{metadata: {resourceVersion: "1", managedFields: [1]}}`, `{metadata: {resourceVersion: "2", managedFields: [2]}}`, nil},
		"in order":         {`{b: 1, a: 1, c: 1}`, `{b: 2, a: 2, d: 1}`, []string{"~ .a: 1 -> 2", "~ .b: 1 -> 2", "- .c: 1", "+ .d: 1"}},
	} {
		var old, new any
		for text, into := range map[*string]*any{&test.old: &old, &test.new: &new} {
			if err := yaml.Unmarshal([]byte(*text), into); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, d := range diff("", old, new) {
			got = append(got, d.String())
		}
		if name == "names used twice" {
			if len(got) == 0 {
				t.Errorf("%s: nothing", name)
			}
			continue
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, test.want)
		}
	}
}

func TestALongValueIsCut(t *testing.T) {
	if got := show(strings.Repeat("ä", 1000)); len(got) > longest+40 || !strings.Contains(got, "2002 bytes") {
		t.Errorf("%q", got)
	}
}
