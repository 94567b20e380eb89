package controllerruntime

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
)

// Fleet is a custom resource with a Go type: so many ships of a color. Its
// controller keeps a Deployment for it.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FleetSpec   `json:"spec"`
	Status            FleetStatus `json:"status"`
}

type FleetSpec struct {
	Ships int32  `json:"ships"`
	Color string `json:"color,omitempty"`
}

type FleetStatus struct {
	Ready int32 `json:"ready"`
	// Observed is the generation that Ready belongs to.
	Observed int64 `json:"observed,omitempty"`
}

type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fleet `json:"items"`
}

func (f *Fleet) DeepCopyObject() runtime.Object {
	c := *f
	c.ObjectMeta = *f.ObjectMeta.DeepCopy()
	return &c
}

func (l *FleetList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]Fleet, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Fleet)
	}
	return &c
}

var (
	seas      = schema.GroupVersion{Group: "sea.example.com", Version: "v1"}
	fleetKind = seas.WithKind("Fleet")
	fleetGVR  = seas.WithResource("fleets")
	fleets    = apiserver.Resource{
		GroupVersionKind: fleetKind, Namespaced: true, Status: true, SelectableFields: []string{"spec.color"},
	}

	fleetResource      = fleetGVR.GroupResource()
	deploymentResource = schema.GroupResource{Group: "apps", Resource: "deployments"}
	configMapResource  = schema.GroupResource{Resource: "configmaps"}
)

func addFleet(s *runtime.Scheme) {
	s.AddKnownTypes(seas, &Fleet{}, &FleetList{})
	metav1.AddToGroupVersion(s, seas)
}

func fleet(namespace, name string, ships int32, color string) *Fleet {
	return &Fleet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       FleetSpec{Ships: ships, Color: color},
	}
}

// ship is a ConfigMap.
func ship(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
