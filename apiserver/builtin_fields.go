package apiserver

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldFuncs are the fields of a kind that can be selected.
type fieldFuncs = map[string]func(obj runtime.Object) string

// of makes a field function from one for a type. An object of another type,
// as another version of the kind may have, has empty fields.
func of[T runtime.Object](value func(T) string) func(runtime.Object) string {
	return func(obj runtime.Object) string {
		if typed, ok := obj.(T); ok {
			return value(typed)
		}
		return ""
	}
}

// builtinFields are the fields that field selectors of kube-apiserver 1.37
// know for the kinds in use, besides metadata.name and metadata.namespace.
var builtinFields = map[schema.GroupKind]fieldFuncs{
	{Kind: "Pod"}: {
		"spec.nodeName":            of(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"spec.restartPolicy":       of(func(p *corev1.Pod) string { return string(p.Spec.RestartPolicy) }),
		"spec.schedulerName":       of(func(p *corev1.Pod) string { return p.Spec.SchedulerName }),
		"spec.serviceAccountName":  of(func(p *corev1.Pod) string { return p.Spec.ServiceAccountName }),
		"spec.hostNetwork":         of(func(p *corev1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) }),
		"status.phase":             of(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
		"status.podIP":             of(podIP),
		"status.podIPs":            of(podIP),
		"status.nominatedNodeName": of(func(p *corev1.Pod) string { return p.Status.NominatedNodeName }),
	},
	{Kind: "Event"}: {
		"involvedObject.kind":            of(func(e *corev1.Event) string { return e.InvolvedObject.Kind }),
		"involvedObject.namespace":       of(func(e *corev1.Event) string { return e.InvolvedObject.Namespace }),
		"involvedObject.name":            of(func(e *corev1.Event) string { return e.InvolvedObject.Name }),
		"involvedObject.uid":             of(func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }),
		"involvedObject.apiVersion":      of(func(e *corev1.Event) string { return e.InvolvedObject.APIVersion }),
		"involvedObject.resourceVersion": of(func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion }),
		"involvedObject.fieldPath":       of(func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }),
		"reason":                         of(func(e *corev1.Event) string { return e.Reason }),
		"reportingComponent":             of(func(e *corev1.Event) string { return e.ReportingController }),
		"source":                         of(eventSource),
		"type":                           of(func(e *corev1.Event) string { return e.Type }),
	},
	{Group: eventsv1.GroupName, Kind: "Event"}: {
		"regarding.kind":            of(func(e *eventsv1.Event) string { return e.Regarding.Kind }),
		"regarding.namespace":       of(func(e *eventsv1.Event) string { return e.Regarding.Namespace }),
		"regarding.name":            of(func(e *eventsv1.Event) string { return e.Regarding.Name }),
		"regarding.uid":             of(func(e *eventsv1.Event) string { return string(e.Regarding.UID) }),
		"regarding.apiVersion":      of(func(e *eventsv1.Event) string { return e.Regarding.APIVersion }),
		"regarding.resourceVersion": of(func(e *eventsv1.Event) string { return e.Regarding.ResourceVersion }),
		"regarding.fieldPath":       of(func(e *eventsv1.Event) string { return e.Regarding.FieldPath }),
		"reason":                    of(func(e *eventsv1.Event) string { return e.Reason }),
		"reportingController":       of(func(e *eventsv1.Event) string { return e.ReportingController }),
		"type":                      of(func(e *eventsv1.Event) string { return e.Type }),
	},
	{Kind: "Namespace"}: {
		"status.phase": of(func(n *corev1.Namespace) string { return string(n.Status.Phase) }),
	},
	{Kind: "Node"}: {
		"spec.unschedulable": of(func(n *corev1.Node) string { return strconv.FormatBool(n.Spec.Unschedulable) }),
	},
	{Kind: "ReplicationController"}: {
		"status.replicas": of(func(r *corev1.ReplicationController) string { return strconv.Itoa(int(r.Status.Replicas)) }),
	},
	{Kind: "Secret"}: {
		"type": of(func(s *corev1.Secret) string { return string(s.Type) }),
	},
	{Kind: "Service"}: {
		"spec.clusterIP": of(func(s *corev1.Service) string { return s.Spec.ClusterIP }),
		"spec.type":      of(func(s *corev1.Service) string { return string(s.Spec.Type) }),
	},
	{Group: batchv1.GroupName, Kind: "Job"}: {
		"status.successful": of(func(j *batchv1.Job) string { return strconv.Itoa(int(j.Status.Succeeded)) }),
	},
	{Group: certificatesv1.GroupName, Kind: "CertificateSigningRequest"}: {
		"spec.signerName": of(func(c *certificatesv1.CertificateSigningRequest) string { return c.Spec.SignerName }),
	},
}

// podIP is the first address of a pod.
func podIP(p *corev1.Pod) string {
	if len(p.Status.PodIPs) > 0 {
		return p.Status.PodIPs[0].IP
	}
	return ""
}

// eventSource is the component that an event comes from.
func eventSource(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

// builtinInitialize completes new objects where clients rely on it. Defaults
// in general are not set: see the package documentation.
var builtinInitialize = map[schema.GroupKind]func(obj runtime.Object){
	{Kind: "Pod"}: func(obj runtime.Object) {
		obj.(*corev1.Pod).Status.Phase = corev1.PodPending
	},
	{Kind: "PersistentVolume"}: func(obj runtime.Object) {
		obj.(*corev1.PersistentVolume).Status.Phase = corev1.VolumePending
	},
	{Kind: "PersistentVolumeClaim"}: func(obj runtime.Object) {
		obj.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimPending
	},
	{Kind: "Namespace"}: func(obj runtime.Object) {
		ns := obj.(*corev1.Namespace)
		ns.Status.Phase = corev1.NamespaceActive
		if ns.Labels == nil {
			ns.Labels = make(map[string]string, 1)
		}
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	},
}

// podGracePeriod tells how long a deleted pod stays, by the rules of
// kube-apiserver: only one that runs on a node does, because there a kubelet
// would end it. Without a period in the pod or in the delete it goes at once,
// since no default is set for new pods.
func podGracePeriod(obj runtime.Object, asked *int64) int64 {
	pod := obj.(*corev1.Pod)
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	if asked != nil {
		return *asked
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 0
}
