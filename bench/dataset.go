package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// object is what a collection has.
type object interface {
	runtime.Object
	metav1.Object
}

// dataset is a collection and how it is sent. The same number always gives the
// same object.
type dataset struct {
	name     string
	kind     schema.GroupVersionKind
	resource string
	format   encoding
	object   func(i int) object
	// values are the indexes that both sides have, as what they list the i-th
	// object under.
	values map[string]func(obj object) string
}

// The names of the data sets.
const (
	podsProtobuf = "pods"
	podsJSON     = "pods as JSON"
	workloadsSet = "workloads"
	smallSet     = "configmaps"
)

func inNamespace(obj object) string { return obj.GetNamespace() }

var podValues = map[string]func(object) string{
	cache.NamespaceIndex: inNamespace,
	indexNode:            func(obj object) string { return byNode(obj.(*corev1.Pod), nil)[0] },
	indexOwner:           func(obj object) string { return byOwner(obj.(*corev1.Pod), nil)[0] },
}

var namespaceValues = map[string]func(object) string{cache.NamespaceIndex: inNamespace}

var datasets = []dataset{
	{podsProtobuf, corev1.SchemeGroupVersion.WithKind("Pod"), "pods", protobufFormat{},
		func(i int) object { return makePod(i) }, podValues},
	{podsJSON, corev1.SchemeGroupVersion.WithKind("Pod"), "pods", jsonFormat{},
		func(i int) object { return makePod(i) }, podValues},
	{workloadsSet, workloadVersion.WithKind("Workload"), "workloads", jsonFormat{},
		func(i int) object { return makeWorkload(i) }, namespaceValues},
	{smallSet, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", protobufFormat{},
		func(i int) object { return makeSmall(i) }, namespaceValues},
}

func datasetNamed(name string) (dataset, error) {
	at := slices.IndexFunc(datasets, func(d dataset) bool { return d.name == name })
	if at < 0 {
		return dataset{}, fmt.Errorf("there is no data set %q", name)
	}
	return datasets[at], nil
}

// path is where the API has the collection.
func (d dataset) path() string { return d.groupPath() + "/" + d.resource }

func (d dataset) groupPath() string {
	if d.kind.Group == "" {
		return "/api/" + d.kind.Version
	}
	return "/apis/" + d.kind.Group + "/" + d.kind.Version
}

func (d dataset) resourceName() schema.GroupVersionResource {
	return d.kind.GroupVersion().WithResource(d.resource)
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
