package main

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Workload is a custom resource like many: it embeds the template of a pod.
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WorkloadSpec   `json:"spec,omitempty"`
	Status            WorkloadStatus `json:"status,omitempty"`
}

// WorkloadSpec is what a Workload is to be.
type WorkloadSpec struct {
	Replicas *int32                 `json:"replicas,omitempty"`
	Selector *metav1.LabelSelector  `json:"selector,omitempty"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// WorkloadStatus is what has become of a Workload.
type WorkloadStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Replicas           int32              `json:"replicas"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// WorkloadList is a list of them.
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Workload `json:"items"`
}

var workloadVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// workloadScheme knows the types above.
func workloadScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(workloadVersion, &Workload{}, &WorkloadList{})
	metav1.AddToGroupVersion(s, workloadVersion)
	return s
}

// DeepCopyObject returns a copy that has nothing in common with w.
func (w *Workload) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	out.Spec.Replicas = ptr.To(ptr.Deref(w.Spec.Replicas, 1))
	out.Spec.Selector = w.Spec.Selector.DeepCopy()
	out.Spec.Template = *w.Spec.Template.DeepCopy()
	out.Status.Conditions = make([]metav1.Condition, len(w.Status.Conditions))
	for n, c := range w.Status.Conditions {
		out.Status.Conditions[n] = *c.DeepCopy()
	}
	return &out
}

// DeepCopyObject returns a copy that has nothing in common with l.
func (l *WorkloadList) DeepCopyObject() runtime.Object {
	out := &WorkloadList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for n := range l.Items {
		out.Items = append(out.Items, *l.Items[n].DeepCopyObject().(*Workload))
	}
	return out
}

// makeWorkload builds the i-th workload. It takes about 6.6 KB as JSON, and what
// it has in common with others is what the pods of makePod have in common: ten
// have one template.
func makeWorkload(i int) *Workload {
	p := makePod(i)
	at := metav1.NewTime(p.CreationTimestamp.Add(4 * time.Second))
	p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = workloadVersion.String(), "Product"
	condition := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: at, ObservedGeneration: 1}
	}
	return &Workload{
		TypeMeta:   metav1.TypeMeta{APIVersion: workloadVersion.String(), Kind: "Workload"},
		ObjectMeta: p.ObjectMeta,
		Spec: WorkloadSpec{
			Replicas: ptr.To(int32(1 + i%5)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": p.Labels["app.kubernetes.io/name"], "workload": p.Name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations},
				Spec:       p.Spec,
			},
		},
		Status: WorkloadStatus{
			ObservedGeneration: 1, Replicas: int32(1 + i%5), ReadyReplicas: int32(1 + i%5),
			Conditions: []metav1.Condition{
				condition("Available", "MinimumReplicasAvailable", "Workload has minimum availability."),
				condition("Progressing", "NewReplicaSetAvailable", "ReplicaSet "+strconv.Quote(p.Name)+" has successfully progressed."),
				condition("Ready", "AllReplicasReady", "All replicas are ready."),
			},
		},
	}
}

// makeSmall builds the i-th small object: a ConfigMap of some 250 bytes as
// protobuf, which shares nothing with others but its namespace and one label.
func makeSmall(i int) *corev1.ConfigMap {
	n := strconv.Itoa(i)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "settings-" + n, Namespace: "team-" + strconv.Itoa(i%namespaces), UID: uid("small", i),
			ResourceVersion: strconv.Itoa(i + 1), CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(i) * time.Second)),
			Labels: map[string]string{"app.kubernetes.io/managed-by": "bench"},
		},
		Data: map[string]string{"value": word(32, "small", i)},
	}
}
