package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// crdBuffer is how far the decoder looks ahead to tell JSON from YAML.
const crdBuffer = 4096

// crd is what is read of a CustomResourceDefinition of apiextensions.k8s.io/v1.
type crd struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			Kind       string   `json:"kind"`
			ListKind   string   `json:"listKind"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []crdVersion `json:"versions"`
	} `json:"spec"`
}

// crdVersion is one version of a crd.
type crdVersion struct {
	Name         string `json:"name"`
	Served       bool   `json:"served"`
	Subresources struct {
		Status *struct{} `json:"status"`
	} `json:"subresources"`
	SelectableFields []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// ResourcesFromCRD reads CustomResourceDefinitions of apiextensions.k8s.io/v1,
// as YAML documents separated by "---" or as JSON, and returns a [Resource] for
// each version that they serve, in the order of the text. Documents without
// content are left out. It reads the group, the names (of categories nothing is
// kept), the scope, and for each version the status subresource and the
// selectable fields; schemas, conversion, the scale subresource and printer
// columns are ignored, as this server has nothing that would heed them. An error
// wraps [ErrInvalidCRD] and names the document, counted from 1 (with nothing
// between two separators there is none), and the field.
func ResourcesFromCRD(data []byte) ([]Resource, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), crdBuffer)
	var resources []Resource
	found := false
	for number := 1; ; number++ {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: document %d: %w", ErrInvalidCRD, number, err)
		}
		if len(raw.Raw) == 0 {
			continue
		}
		found = true
		d, err := parseCRD(raw.Raw)
		if err != nil {
			where := fmt.Sprintf("document %d", number)
			if d.Metadata.Name != "" {
				where += " (" + d.Metadata.Name + ")"
			}
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalidCRD, where, err)
		}
		resources = append(resources, d.resources()...)
	}
	if !found {
		return nil, fmt.Errorf("%w: no document", ErrInvalidCRD)
	}
	return resources, nil
}

// parseCRD reads and checks one document. What could be read of it is returned
// with an error, too.
func parseCRD(data []byte) (*crd, error) {
	d := &crd{}
	err := json.Unmarshal(data, d)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		if mismatch.Field == "" {
			return d, fmt.Errorf("must be an object, not of type %s", mismatch.Value)
		}
		return d, fmt.Errorf("%s: cannot be of type %s", mismatch.Field, mismatch.Value)
	}
	if err == nil {
		err = d.check()
	}
	return d, err
}

// check finds the first field that is missing or makes no sense.
func (d *crd) check() error {
	spec := &d.Spec
	names := &spec.Names
	switch {
	case d.APIVersion != "apiextensions.k8s.io/v1":
		return fmt.Errorf("apiVersion: must be apiextensions.k8s.io/v1: %q", d.APIVersion)
	case d.Kind != "CustomResourceDefinition":
		return fmt.Errorf("kind: must be CustomResourceDefinition: %q", d.Kind)
	case spec.Scope != "Namespaced" && spec.Scope != "Cluster":
		return fmt.Errorf("spec.scope: must be Namespaced or Cluster: %q", spec.Scope)
	case names.ListKind != "" && names.ListKind != names.Kind+"List":
		return fmt.Errorf("spec.names.listKind: must be the kind followed by List: %q", names.ListKind)
	case len(spec.Versions) == 0:
		return errors.New("spec.versions: required")
	}
	if problems := validation.IsDNS1123Subdomain(spec.Group); len(problems) > 0 {
		return fieldError("spec.group", spec.Group, problems)
	}
	words := []struct{ field, value string }{
		{"spec.names.plural", names.Plural},
		// Kinds are checked without regard to case, as upstream does.
		{"spec.names.kind", strings.ToLower(names.Kind)},
	}
	if names.Singular != "" {
		words = append(words, struct{ field, value string }{"spec.names.singular", names.Singular})
	}
	for i, name := range names.ShortNames {
		words = append(words, struct{ field, value string }{fmt.Sprintf("spec.names.shortNames[%d]", i), name})
	}
	for _, word := range words {
		if problems := validation.IsDNS1035Label(word.value); len(problems) > 0 {
			return fieldError(word.field, word.value, problems)
		}
	}
	if want := names.Plural + "." + spec.Group; d.Metadata.Name != want {
		return fmt.Errorf("metadata.name: must be the plural and the group, %s: %q", want, d.Metadata.Name)
	}
	for i := range spec.Versions {
		if err := d.checkVersion(i); err != nil {
			return fmt.Errorf("spec.versions[%d].%w", i, err)
		}
	}
	return nil
}

// checkVersion checks a version by itself and against those before it.
func (d *crd) checkVersion(i int) error {
	v := d.Spec.Versions[i]
	if problems := validation.IsDNS1035Label(v.Name); len(problems) > 0 {
		return fieldError("name", v.Name, problems)
	}
	if slices.ContainsFunc(d.Spec.Versions[:i], func(other crdVersion) bool { return other.Name == v.Name }) {
		return fmt.Errorf("name: there are two of %s", v.Name)
	}
	for j, f := range v.SelectableFields {
		path, rooted := strings.CutPrefix(f.JSONPath, ".")
		if !rooted || strings.ContainsAny(path, "[]*'\" ") || slices.Contains(strings.Split(path, "."), "") {
			return fmt.Errorf("selectableFields[%d].jsonPath: must be a simple path such as .spec.color: %q", j, f.JSONPath)
		}
	}
	return nil
}

// fieldError is a value that apimachinery's validation refuses.
func fieldError(field, value string, problems []string) error {
	if value == "" {
		return fmt.Errorf("%s: required", field)
	}
	return fmt.Errorf("%s: %s: %q", field, problems[0], value)
}

// resources are the served versions.
func (d *crd) resources() []Resource {
	var resources []Resource
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		r := Resource{
			GroupVersionKind: schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Spec.Names.Kind},
			Plural:           d.Spec.Names.Plural,
			Singular:         d.Spec.Names.Singular,
			ShortNames:       slices.Clone(d.Spec.Names.ShortNames),
			Namespaced:       d.Spec.Scope == "Namespaced",
			Status:           v.Subresources.Status != nil,
		}
		for _, f := range v.SelectableFields {
			r.SelectableFields = append(r.SelectableFields, strings.TrimPrefix(f.JSONPath, "."))
		}
		resources = append(resources, r)
	}
	return resources
}
