package apiserver_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"heliograph.example/apiserver"
)

// Gadget is a custom resource with a Go type.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec   `json:"spec"`
	Status            GadgetStatus `json:"status"`
}

type GadgetSpec struct {
	Color string `json:"color,omitempty"`
}

type GadgetStatus struct {
	Ready bool `json:"ready,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	c := *g
	c.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &c
}

func (l *GadgetList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Gadget, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Gadget)
	}
	return &c
}

var gadgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

func gadgetScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(gadgets, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(s, gadgets)
	return s
}

func TestTypedCustomResources(t *testing.T) {
	scheme := gadgetScheme()
	s := start(t, apiserver.Options{Scheme: scheme, Resources: []apiserver.Resource{{
		GroupVersionKind: gadgets.WithKind("Gadget"), Namespaced: true, Status: true, SelectableFields: []string{"spec.color"},
	}}})
	config := s.Config()
	config.APIPath, config.GroupVersion = "/apis", &gadgets
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var g Gadget
	in := &Gadget{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: GadgetSpec{Color: "red"}, Status: GadgetStatus{Ready: true}}
	if err := c.Post().Namespace("a").Resource("gadgets").Body(in).Do(ctx).Into(&g); err != nil {
		t.Fatal(err)
	}
	if g.Status.Ready || g.Spec.Color != "red" || g.Generation != 1 || g.UID == "" {
		t.Errorf("created %+v", g)
	}
	w, err := c.Get().Namespace("a").Resource("gadgets").Param("watch", "1").Param("fieldSelector", "spec.color=red").Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := next(t, w); e.Type != watch.Added || e.Object.(*Gadget).Name != "g" {
		t.Errorf("event %+v", e)
	}
	g.Status.Ready, g.Spec.Color = true, "blue"
	if err := c.Put().Namespace("a").Resource("gadgets").Name("g").SubResource("status").Body(&g).Do(ctx).Into(&g); err != nil {
		t.Fatal(err)
	}
	if !g.Status.Ready || g.Spec.Color != "red" {
		t.Errorf("after an update of the status: %+v", g)
	}
	var list GadgetList
	if err := c.Get().Namespace("a").Resource("gadgets").Do(ctx).Into(&list); err != nil || len(list.Items) != 1 || list.Items[0].Kind != "Gadget" {
		t.Errorf("list %+v, %v", list, err)
	}
	err = c.Get().Namespace("a").Resource("gadgets").SetHeader("Accept", "application/vnd.kubernetes.protobuf").Do(ctx).Error()
	if !apierrors.IsNotAcceptable(err) {
		t.Errorf("protobuf: %v", err)
	}
	if err := c.Post().Namespace("a").Resource("gadgets").Param("fieldValidation", "Strict").
		Body([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"h"},"spec":{"bogus":1}}`)).Do(ctx).Error(); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
}

func TestASchemeWithoutBuiltinsServesOnlyCustomResources(t *testing.T) {
	s := start(t, apiserver.Options{Scheme: runtime.NewScheme(), Resources: []apiserver.Resource{widgets}})
	if resp := open(t, s, "/api/v1/pods"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("pods: %s", resp.Status)
	}
	c, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	createWidget(t, t.Context(), c, "x", "red")
}

func TestNamesThatAreSpecialToAKind(t *testing.T) {
	s := start(t, apiserver.Options{})
	c, ctx := client(t, s, ""), t.Context()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:a:b"}}
	if _, err := c.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if got, err := c.RbacV1().ClusterRoles().Get(ctx, "system:a:b", metav1.GetOptions{}); err != nil || got.Name != role.Name {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.CoreV1().ConfigMaps("a").Create(ctx, configMap("system:a:b"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a config map: %v", err)
	}
	ns, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}, metav1.CreateOptions{})
	if err != nil || !strings.HasPrefix(ns.Name, "team-") || ns.Labels[corev1.LabelMetadataName] != ns.Name || ns.Status.Phase != corev1.NamespaceActive {
		t.Errorf("%v, %v", ns, err)
	}
}

func TestConcurrentWritersLoseNoUpdate(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		maps, ctx := client(t, s, encoding).CoreV1().ConfigMaps("a"), t.Context()
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		const writers, writes = 4, 15
		backoff := retry.DefaultRetry
		backoff.Steps = 1000
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range writes {
					err := retry.RetryOnConflict(backoff, func() error {
						m, err := maps.Get(ctx, "m", metav1.GetOptions{})
						if err != nil {
							return err
						}
						n, err := strconv.Atoi(m.Data["n"])
						if err != nil {
							return err
						}
						m.Data["n"] = fmt.Sprint(n + 1)
						_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		m, err := maps.Get(ctx, "m", metav1.GetOptions{})
		if err != nil || m.Data["n"] != fmt.Sprint(writers*writes) {
			t.Errorf("%v, %v; want %d", m, err, writers*writes)
		}
	})
}
