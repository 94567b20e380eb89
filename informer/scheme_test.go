package informer_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"heliograph.example/apiserver"
	"heliograph.example/informer"
)

// slim is a ConfigMap of which a user wants only the metadata, as a type of its own.
type slim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (s *slim) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

type slimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []slim `json:"items"`
}

func (s *slimList) DeepCopyObject() runtime.Object { c := *s; return &c }

func TestForReadsATypeOfTheUsersOwn(t *testing.T) {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Version: "v1"}
	scheme.AddKnownTypeWithName(v1.WithKind("ConfigMap"), &slim{})
	scheme.AddKnownTypeWithName(v1.WithKind("ConfigMapList"), &slimList{})
	metav1.AddToGroupVersion(scheme, v1)
	f, err := informer.NewFactory(serve(t), informer.FactoryOptions{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	i, err := informer.For(t.Context(), f, informer.Options[*slim]{})
	expectKeys(t, synced(t, f, i, err), "ns-1/a", "ns-1/b", "ns-2/a")
	if s := i.Status(); s.ObjectErrors > 0 {
		t.Error(s.LastObjectError)
	}
}

func TestForAsksForTheKindOfATypeThatIsSeveral(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, &slim{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, &slim{})
	f, err := informer.NewFactory(serve(t), informer.FactoryOptions{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	if _, err := informer.For(t.Context(), f, informer.Options[*slim]{}); !errors.Is(err, informer.ErrInvalid) || !strings.Contains(err.Error(), "Secret") {
		t.Errorf("For without a kind: %v", err)
	}
	secret := informer.Scope{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	if _, err := informer.For(t.Context(), f, informer.Options[*slim]{Scope: secret}); err != nil {
		t.Errorf("For with a kind: %v", err)
	}
}

func TestForReadsACustomResourceOfAGoType(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Widget"}
	server, err := apiserver.Start(t.Context(), apiserver.Options{Resources: []apiserver.Resource{{GroupVersionKind: kind, Namespaced: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(kind)
	widget.SetName("a")
	client := dynamic.NewForConfigOrDie(server.Config()).Resource(kind.GroupVersion().WithResource("widgets")).Namespace("ns-1")
	if _, err := client.Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(kind, &slim{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("WidgetList"), &slimList{})
	metav1.AddToGroupVersion(scheme, kind.GroupVersion())
	f, err := informer.NewFactory(server.Config(), informer.FactoryOptions{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	i, err := informer.For(t.Context(), f, informer.Options[*slim]{})
	expectKeys(t, synced(t, f, i, err), "ns-1/a")
}
