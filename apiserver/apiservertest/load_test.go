package apiservertest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

const manifests = `
# A namespace, and what is in it.
apiVersion: v1
kind: Namespace
metadata: {name: shop, uid: left-out, resourceVersion: "1234"}
---
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers: [{name: main, image: web, ports: [{containerPort: 8080}]}]
status:
  phase: Running
  podIP: 10.0.0.1
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: two}, spec: {size: 3}, status: {ready: true}}
`

var widgets = apiserver.Resource{
	GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
	Namespaced:       true,
	Status:           true,
}

func TestLoadCreatesObjectsWithTheirStatus(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{Resources: []apiserver.Resource{widgets}})
	created := server.Load(manifests)
	if len(created) != 4 {
		t.Fatalf("created %d objects: %v", len(created), created)
	}
	core := server.Client().CoreV1()
	if _, err := core.Namespaces().Get(t.Context(), "shop", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	pod, err := core.Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP != "10.0.0.1" || pod.Spec.Containers[0].Ports[0].ContainerPort != 8080 {
		t.Errorf("the pod is %+v", pod)
	}
	if _, err := core.ConfigMaps("default").Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widget, err := server.Dynamic().Resource(gvr).Namespace("default").Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := widget.Object["status"].(map[string]any); status["ready"] != true {
		t.Errorf("the widget is %v", widget)
	}
	if widget.GetResourceVersion() != created[3].GetResourceVersion() {
		t.Errorf("Load returned version %s, the server has %s", created[3].GetResourceVersion(), widget.GetResourceVersion())
	}
	if n := len(server.Log()); n != 0 {
		t.Errorf("%d requests count as the program's: %s", n, server.Log())
	}
}

func TestLoadTakesStreamsOfJSONAndFiles(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{})
	server.Load(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
	file := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}")}
	}
	files := fstest.MapFS{"x/2.yaml": file("d"), "x/1.yaml": file("c"), "other.txt": file("e")}
	for i, obj := range server.LoadFiles(files, "x/*.yaml") {
		if want := []string{"c", "d"}[i]; obj.GetName() != want {
			t.Errorf("object %d is %s, want %s", i, obj.GetName(), want)
		}
	}
	list, err := server.Client().CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 4 {
		t.Errorf("%d objects, %v", len(list.Items), err)
	}
	failed, log := record(t, func(tb testing.TB) {
		apiservertest.Start(tb, apiserver.Options{}).LoadFiles(files, "*.yaml")
	})
	if !failed || !strings.Contains(log, `load "*.yaml": no such file`) {
		t.Errorf("a pattern without files: failed %v: %s", failed, log)
	}
}

func TestLoadNamesTheDocumentThatCannotBeLoaded(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{})
	const good = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: good-}}\n---\n"
	for name, test := range map[string]struct {
		manifests string
		created   int
		want      []string
	}{
		"no YAML":          {good + "a: b: c", 0, []string{"x.yaml: document 2: ", "yaml"}},
		"no object":        {good + "[1, 2]", 0, []string{"x.yaml: document 2: "}},
		"no apiVersion":    {good + "{kind: Pod, metadata: {name: a}}", 0, []string{"document 2 (Pod a): no apiVersion"}},
		"no kind":          {good + "{apiVersion: v1, metadata: {name: a}}", 0, []string{"document 2 ( a): no kind"}},
		"no name":          {good + "{apiVersion: v1, kind: Pod}", 0, []string{"document 2 (Pod ): no name"}},
		"an item":          {good + "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}]}", 0, []string{"document 2, item 1 (Pod ): no name"}},
		"an unknown kind":  {good + "{apiVersion: v1, kind: Wheel, metadata: {name: a}}", 1, []string{"document 2 (Wheel a): the server does not serve the kind Wheel in v1"}},
		"an unknown group": {good + "{apiVersion: example.com/v1, kind: Wheel, metadata: {name: a}}", 1, []string{"document 2 (Wheel a): ", "example.com/v1"}},
		"a namespace for what has none": {
			good + "{apiVersion: v1, kind: Node, metadata: {name: a, namespace: b}}", 1,
			[]string{`document 2 (Node b/a): nodes are not in namespaces, and this one names "b"`},
		},
		"a bad name": {good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: A_B}}", 1, []string{"document 2 (ConfigMap A_B): ", "Invalid value"}},
		"the same again": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", 1,
			[]string{"document 2 (ConfigMap a): ", "already exists"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			created, err := apiservertest.Load(t.Context(), server.Config(), "x.yaml", test.manifests)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error %q", want, err)
				}
			}
			if len(created) != test.created {
				t.Errorf("%d objects were created, want %d", len(created), test.created)
			}
		})
	}
}
