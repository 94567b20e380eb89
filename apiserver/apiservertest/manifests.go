package apiservertest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// yamlBuffer is how far the decoder looks ahead to tell JSON from YAML.
const yamlBuffer = 4096

// document is one object of some manifests, and where it was.
type document struct {
	where  string // the source and the number of the document
	object *unstructured.Unstructured
}

// wrap adds to an error where the object was.
func (d document) wrap(err error) error {
	o := d.object
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return fmt.Errorf("%s (%s %s): %w", d.where, o.GetKind(), name, err)
}

// parse reads the documents of manifests: YAML separated by "---", or JSON.
// Empty documents are left out, and lists are taken apart.
func parse(source, manifests string) ([]document, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), yamlBuffer)
	var documents []document
	for number := 1; ; number++ {
		where := fmt.Sprintf("%s: document %d", source, number)
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		// Unlike encoding/json, this keeps whole numbers whole.
		var content map[string]any
		if err == nil && len(raw.Raw) > 0 {
			err = json.Unmarshal(raw.Raw, &content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if len(content) == 0 {
			continue
		}
		objects, err := split(where, &unstructured.Unstructured{Object: content})
		if err != nil {
			return nil, err
		}
		documents = append(documents, objects...)
	}
}

// split returns a document, or one for each item of a list.
func split(where string, u *unstructured.Unstructured) ([]document, error) {
	if !u.IsList() {
		return checked(document{where, u})
	}
	list, err := u.ToList()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	var documents []document
	for i := range list.Items {
		item, err := checked(document{fmt.Sprintf("%s, item %d", where, i+1), &list.Items[i]})
		if err != nil {
			return nil, err
		}
		documents = append(documents, item...)
	}
	return documents, nil
}

// checked refuses what cannot be an object.
func checked(d document) ([]document, error) {
	switch o := d.object; {
	case o.GetAPIVersion() == "":
		return nil, d.wrap(errors.New("no apiVersion"))
	case o.GetKind() == "":
		return nil, d.wrap(errors.New("no kind"))
	case o.GetName() == "" && o.GetGenerateName() == "":
		return nil, d.wrap(errors.New("no name"))
	}
	return []document{d}, nil
}
