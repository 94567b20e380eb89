package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"heliograph.example/informer"
)

// form is one of the ways to read objects.
type form struct {
	name   string
	config func() *rest.Config
	// contentType is what the server is expected to send.
	contentType string
	// subjects makes an informer for each of kinds. The stock client uses a
	// configuration of its own.
	subjects func(t *testing.T, f *informer.Factory, stock *rest.Config) []subject
}

var forms = []form{
	{"typed JSON", jsonConfig, runtime.ContentTypeJSON, typedSubjects},
	{"typed protobuf", protobufConfig, runtime.ContentTypeProtobuf, typedSubjects},
	{"unstructured", jsonConfig, runtime.ContentTypeJSON, unstructuredSubjects},
	{"metadata only", protobufConfig, runtime.ContentTypeProtobuf, metadataSubjects},
}

// loadScope is the scope of typed informers of loadNamespace, loadScopeOf that of
// the others, whose type does not tell the kind.
var loadScope = informer.Scope{Namespace: loadNamespace}

func loadScopeOf(k kind) informer.Scope {
	return informer.Scope{Namespace: loadNamespace, Kind: corev1.SchemeGroupVersion.WithKind(k.name)}
}

func typedSubjects(t *testing.T, f *informer.Factory, stock *rest.Config) []subject {
	t.Helper()
	c := kubernetes.NewForConfigOrDie(stock).CoreV1()
	return []subject{
		newSubject(t, f, configMaps, loadScope, func(ctx context.Context) ([]*corev1.ConfigMap, error) {
			list, err := c.ConfigMaps(loadNamespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			return pointers(list.Items), nil
		}),
		newSubject(t, f, pods, loadScope, func(ctx context.Context) ([]*corev1.Pod, error) {
			list, err := c.Pods(loadNamespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			return pointers(list.Items), nil
		}),
	}
}

func unstructuredSubjects(t *testing.T, f *informer.Factory, stock *rest.Config) []subject {
	t.Helper()
	c := dynamic.NewForConfigOrDie(stock)
	var subjects []subject
	for _, k := range kinds {
		resource := corev1.SchemeGroupVersion.WithResource(k.plural)
		subjects = append(subjects, newSubject(t, f, k, loadScopeOf(k),
			func(ctx context.Context) ([]*unstructured.Unstructured, error) {
				list, err := c.Resource(resource).Namespace(loadNamespace).List(ctx, metav1.ListOptions{})
				if err != nil {
					return nil, err
				}
				return pointers(list.Items), nil
			}))
	}
	return subjects
}

func metadataSubjects(t *testing.T, f *informer.Factory, stock *rest.Config) []subject {
	t.Helper()
	c := metadata.NewForConfigOrDie(stock)
	var subjects []subject
	for _, k := range kinds {
		resource := corev1.SchemeGroupVersion.WithResource(k.plural)
		subjects = append(subjects, newSubject(t, f, k, loadScopeOf(k),
			func(ctx context.Context) ([]*metav1.PartialObjectMetadata, error) {
				list, err := c.Resource(resource).Namespace(loadNamespace).List(ctx, metav1.ListOptions{})
				if err != nil {
					return nil, err
				}
				return pointers(list.Items), nil
			}))
	}
	return subjects
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
