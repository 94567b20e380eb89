package apiserver_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"heliograph.example/apiserver"
)

const lampCRDs = `# What our team serves.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lamps.example.com
  annotations: {controller-gen.kubebuilder.io/version: v0.19.0}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp, listKind: LampList, shortNames: [lp], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
  - name: v1beta1
    served: true
    storage: false
  - name: v1alpha1
    served: false
    storage: false
---
---
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "halls.example.com"},
 "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "halls", "kind": "Hall"},
  "versions": [{"name": "v1", "served": true, "storage": true}]}}
`

func TestEachServedVersionOfADefinitionIsAResource(t *testing.T) {
	got, err := apiserver.ResourcesFromCRD([]byte(lampCRDs))
	if err != nil {
		t.Fatal(err)
	}
	kind := func(version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: kind}
	}
	lamp := apiserver.Resource{Plural: "lamps", Singular: "lamp", ShortNames: []string{"lp"}, Namespaced: true}
	v1, beta := lamp, lamp
	v1.GroupVersionKind, v1.Status, v1.SelectableFields = kind("v1", "Lamp"), true, []string{"spec.color"}
	beta.GroupVersionKind = kind("v1beta1", "Lamp")
	want := []apiserver.Resource{v1, beta, {GroupVersionKind: kind("v1", "Hall"), Plural: "halls"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestResourcesOfDefinitionsAreServed(t *testing.T) {
	resources, err := apiserver.ResourcesFromCRD([]byte(lampCRDs))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, apiserver.Options{Resources: resources})
	c, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, lamps := t.Context(), schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}
	for name, color := range map[string]string{"a": "red", "b": "blue"} {
		lamp := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"color": color}, "status": map[string]any{"lit": true},
		}}
		created, err := c.Resource(lamps).Namespace("ns").Create(ctx, lamp, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := created.Object["status"]; ok {
			t.Errorf("a create set the status: %v", created)
		}
	}
	list, err := c.Resource(lamps).List(ctx, metav1.ListOptions{FieldSelector: "spec.color=blue"})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "b" {
		t.Errorf("blue lamps: %v, %v", list, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	served, err := disco.ServerResourcesForGroupVersion("example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range served.APIResources {
		names = append(names, r.Name+" "+r.SingularName+" "+strings.Join(r.ShortNames, ","))
	}
	if got, want := strings.Join(names, "; "), "halls hall ; lamps lamp lp; lamps/status  "; got != want {
		t.Errorf("discovery tells %q, want %q", got, want)
	}
	if err := s.Register(resources[0]); err == nil {
		t.Error("a resource was registered twice")
	}
}

func TestDefinitionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct{ name, old, replacement, want string }{
		{"another version of the API", "extensions.k8s.io/v1\n", "extensions.k8s.io/v1beta1\n", `document 2 (lamps.example.com): apiVersion: must be apiextensions.k8s.io/v1: "apiextensions.k8s.io/v1beta1"`},
		{"another kind", "kind: CustomResourceDefinition", "kind: Pod", `document 2 (lamps.example.com): kind: must be CustomResourceDefinition: "Pod"`},
		{"a name that does not fit", "name: lamps.example.com", "name: lamp.example.com", `document 2 (lamp.example.com): metadata.name: must be the plural and the group, lamps.example.com: "lamp.example.com"`},
		{"no group", "  group: example.com\n", "", "document 2 (lamps.example.com): spec.group: required"},
		{"a group that is no name", "group: example.com", "group: Example", "document 2 (lamps.example.com): spec.group: a lowercase RFC 1123 subdomain"},
		{"a number for a group", "group: example.com", "group: 5", "document 2 (lamps.example.com): spec.group: cannot be of type number"},
		{"no scope", "  scope: Namespaced\n", "", `document 2 (lamps.example.com): spec.scope: must be Namespaced or Cluster: ""`},
		{"no kind", "kind: Lamp, listKind: LampList, ", "", "document 2 (lamps.example.com): spec.names.kind: required"},
		{"another list kind", "LampList", "Lamps", `document 2 (lamps.example.com): spec.names.listKind: must be the kind followed by List: "Lamps"`},
		{"an upper-case short name", "[lp]", "[lp, LP]", "document 2 (lamps.example.com): spec.names.shortNames[1]: a DNS-1035 label"},
		{"an upper-case plural", `"plural": "halls"`, `"plural": "Halls"`, "document 3 (halls.example.com): spec.names.plural: a DNS-1035 label"},
		{"no versions", `"versions": [{"name": "v1", "served": true, "storage": true}]`, `"versions": []`, "document 3 (halls.example.com): spec.versions: required"},
		{"a version without a name", "- name: v1beta1\n    served", "- served", "document 2 (lamps.example.com): spec.versions[1].name: required"},
		{"a version twice", "v1beta1", "v1", "document 2 (lamps.example.com): spec.versions[1].name: there are two of v1"},
		{"a text for served", "served: false", "served: no way", "document 2 (lamps.example.com): spec.versions.served: cannot be of type string"},
		{"a path without a root", ".spec.color", "spec.color", `document 2 (lamps.example.com): spec.versions[0].selectableFields[0].jsonPath: must be a simple path such as .spec.color: "spec.color"`},
		{"a path into a list", ".spec.color", "'.spec.colors[0]'", "spec.versions[0].selectableFields[0].jsonPath: must be a simple path"},
		{"text that is no YAML", "scope: Namespaced", "scope: {", "document 2: "},
		{"a list", "# What our team serves.", "- 1", "document 1: must be an object, not of type array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := strings.Replace(lampCRDs, c.old, c.replacement, 1)
			if data == lampCRDs {
				t.Fatalf("nothing to replace: %q", c.old)
			}
			got, err := apiserver.ResourcesFromCRD([]byte(data))
			if got != nil || !errors.Is(err, apiserver.ErrInvalidCRD) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v\nwant %s", got, err, c.want)
			}
		})
	}
	for _, data := range []string{"", "---\n# nothing\n---\n", "- 1\n", "just text"} {
		if got, err := apiserver.ResourcesFromCRD([]byte(data)); got != nil || !errors.Is(err, apiserver.ErrInvalidCRD) {
			t.Errorf("%q: %v, %v", data, got, err)
		}
	}
}
