// Package site has the API of the operator: the kind Site, whose content is to be served
// by a number of web servers.
package site

import (
	_ "embed"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definition is the CustomResourceDefinition of the kind, in YAML.
//
//go:embed crd.yaml
var Definition []byte

// The kind and its resource.
var (
	GroupVersion = schema.GroupVersion{Group: "web.heliograph.example", Version: "v1"}
	Kind         = GroupVersion.WithKind("Site")
	Resource     = GroupVersion.WithResource("sites")
)

// Site is a page to be served.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitempty"`
}

// Spec is what is asked for.
type Spec struct {
	// Content is the page.
	Content string `json:"content"`
	// Replicas is the number of web servers; nil means one.
	Replicas *int32 `json:"replicas,omitempty"`
}

// Status is what the operator has seen.
type Status struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of web servers that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Conditions has Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Ready is the type of the condition that the page is served as asked.
const Ready = "Ready"

// List is a list of sites.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

// AddToScheme tells a scheme of the kind.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(Kind, &Site{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("SiteList"), &List{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// DeepCopy returns a copy that shares nothing with s.
func (s *Site) DeepCopy() *Site {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	if s.Spec.Replicas != nil {
		replicas := *s.Spec.Replicas
		out.Spec.Replicas = &replicas
	}
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

// DeepCopyObject is DeepCopy for those who know only the interface.
func (s *Site) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// DeepCopyObject returns a copy that shares nothing with l.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	out.ListMeta = *l.ListMeta.DeepCopy()
	out.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}
