package apiserver

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/endpoints"
)

// The version of Kubernetes whose built-in API is served.
const (
	serverMajor = 1
	serverMinor = 37
)

// trait is one way in which a built-in resource differs from the plain one,
// which is namespaced, has no status subresource and no generation, and takes
// updates without a resource version.
type trait int

const (
	cluster        trait = iota // not in namespaces
	status                      // has a status subresource, whose writes change metadata, too
	pureStatus                  // has a status subresource, whose writes leave metadata alone
	generation                  // the server counts generations
	conditional                 // an update needs a resource version
	createOnUpdate              // an update may create
	returnsDeleted              // a delete answers with the object
	orphans                     // a delete leaves dependents as orphans unless it says otherwise
)

// builtin describes a built-in kind in all its versions.
type builtin struct {
	kind   string
	plural string
	short  string
	traits []trait
}

// builtins are the kinds that kube-apiserver 1.37 stores, by API group. Names,
// scopes and traits are those of its registry (pkg/registry in
// k8s.io/kubernetes). The test of this table makes sure that it covers the
// scheme of client-go.
var builtins = map[string][]builtin{
	"": {
		{"ConfigMap", "configmaps", "cm", nil},
		{"Endpoints", "endpoints", "ep", []trait{createOnUpdate}},
		{"Event", "events", "ev", []trait{createOnUpdate}},
		{"LimitRange", "limitranges", "limits", []trait{createOnUpdate}},
		{"Namespace", "namespaces", "ns", []trait{cluster, status, returnsDeleted}},
		{"Node", "nodes", "no", []trait{cluster, status}},
		{"PersistentVolume", "persistentvolumes", "pv", []trait{cluster, status, returnsDeleted}},
		{"PersistentVolumeClaim", "persistentvolumeclaims", "pvc", []trait{status, returnsDeleted}},
		{"Pod", "pods", "po", []trait{status, generation, returnsDeleted}},
		{"PodTemplate", "podtemplates", "", []trait{generation, returnsDeleted}},
		{"ReplicationController", "replicationcontrollers", "rc", []trait{status, generation, orphans}},
		{"ResourceQuota", "resourcequotas", "quota", []trait{status, returnsDeleted}},
		{"Secret", "secrets", "", nil},
		{"Service", "services", "svc", []trait{status, createOnUpdate, returnsDeleted}},
		{"ServiceAccount", "serviceaccounts", "sa", []trait{returnsDeleted}},
	},
	"admissionregistration.k8s.io": {
		{"MutatingAdmissionPolicy", "mutatingadmissionpolicies", "", []trait{cluster, generation, conditional}},
		{"MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "", []trait{cluster, generation, conditional}},
		{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", []trait{cluster, generation, conditional}},
		{"ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", []trait{cluster, pureStatus, generation, conditional}},
		{"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "", []trait{cluster, generation, conditional}},
		{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", []trait{cluster, generation, conditional}},
	},
	"apps": {
		{"ControllerRevision", "controllerrevisions", "", nil},
		{"DaemonSet", "daemonsets", "ds", []trait{status, generation}},
		{"Deployment", "deployments", "deploy", []trait{status, generation}},
		{"ReplicaSet", "replicasets", "rs", []trait{status, generation}},
		{"StatefulSet", "statefulsets", "sts", []trait{status, generation}},
	},
	"autoscaling": {
		{"HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", []trait{status, generation}},
	},
	"batch": {
		{"CronJob", "cronjobs", "cj", []trait{status, generation}},
		{"Job", "jobs", "", []trait{status, generation, orphans}},
	},
	"certificates.k8s.io": {
		{"CertificateSigningRequest", "certificatesigningrequests", "csr", []trait{cluster, status}},
		{"ClusterTrustBundle", "clustertrustbundles", "", []trait{cluster, conditional}},
		{"PodCertificateRequest", "podcertificaterequests", "", []trait{pureStatus, conditional}},
	},
	"coordination.k8s.io": {
		{"Lease", "leases", "", []trait{conditional, createOnUpdate}},
		{"LeaseCandidate", "leasecandidates", "", []trait{conditional, createOnUpdate}},
	},
	"discovery.k8s.io": {
		{"EndpointSlice", "endpointslices", "", []trait{generation}},
	},
	"events.k8s.io": {
		{"Event", "events", "ev", []trait{createOnUpdate}},
	},
	"flowcontrol.apiserver.k8s.io": {
		{"FlowSchema", "flowschemas", "", []trait{cluster, pureStatus, generation}},
		{"PriorityLevelConfiguration", "prioritylevelconfigurations", "", []trait{cluster, pureStatus, generation}},
	},
	"internal.apiserver.k8s.io": {
		{"StorageVersion", "storageversions", "", []trait{cluster, pureStatus, conditional}},
	},
	"lifecycle.k8s.io": {
		{"Eviction", "evictions", "", []trait{pureStatus, generation, conditional}},
		{"EvictionRequest", "evictionrequests", "", []trait{pureStatus, generation, conditional}},
	},
	"networking.k8s.io": {
		{"IPAddress", "ipaddresses", "ip", []trait{cluster}},
		{"Ingress", "ingresses", "ing", []trait{status, generation}},
		{"IngressClass", "ingressclasses", "", []trait{cluster, generation}},
		{"NetworkPolicy", "networkpolicies", "netpol", []trait{generation}},
		{"ServiceCIDR", "servicecidrs", "", []trait{cluster, pureStatus}},
	},
	"node.k8s.io": {
		{"RuntimeClass", "runtimeclasses", "", []trait{cluster, conditional, createOnUpdate}},
	},
	"policy": {
		{"PodDisruptionBudget", "poddisruptionbudgets", "pdb", []trait{status, generation, conditional}},
	},
	"rbac.authorization.k8s.io": {
		{"ClusterRole", "clusterroles", "", []trait{cluster, createOnUpdate}},
		{"ClusterRoleBinding", "clusterrolebindings", "", []trait{cluster, createOnUpdate}},
		{"Role", "roles", "", []trait{createOnUpdate}},
		{"RoleBinding", "rolebindings", "", []trait{createOnUpdate}},
	},
	"resource.k8s.io": {
		{"DeviceClass", "deviceclasses", "", []trait{cluster, generation, returnsDeleted}},
		{"DeviceTaintRule", "devicetaintrules", "", []trait{cluster, pureStatus, generation}},
		{"ResourceClaim", "resourceclaims", "", []trait{pureStatus, returnsDeleted}},
		{"ResourceClaimTemplate", "resourceclaimtemplates", "", []trait{returnsDeleted}},
		{"ResourcePoolStatusRequest", "resourcepoolstatusrequests", "", []trait{cluster, pureStatus, conditional, returnsDeleted}},
		{"ResourceSlice", "resourceslices", "", []trait{cluster, generation, returnsDeleted}},
	},
	"scheduling.k8s.io": {
		{"CompositePodGroup", "compositepodgroups", "", []trait{pureStatus, conditional}},
		{"PodGroup", "podgroups", "", []trait{pureStatus, conditional}},
		{"PriorityClass", "priorityclasses", "pc", []trait{cluster, generation}},
		{"Workload", "workloads", "", []trait{conditional}},
	},
	"storage.k8s.io": {
		{"CSIDriver", "csidrivers", "", []trait{cluster, conditional, returnsDeleted}},
		{"CSINode", "csinodes", "", []trait{cluster, pureStatus, conditional, returnsDeleted}},
		{"CSIStorageCapacity", "csistoragecapacities", "", []trait{conditional}},
		{"StorageClass", "storageclasses", "sc", []trait{cluster, returnsDeleted}},
		{"VolumeAttachment", "volumeattachments", "", []trait{cluster, pureStatus, conditional, returnsDeleted}},
		{"VolumeAttributesClass", "volumeattributesclasses", "vac", []trait{cluster, returnsDeleted}},
	},
	"storagemigration.k8s.io": {
		{"StorageVersionMigration", "storageversionmigrations", "", []trait{cluster, pureStatus, conditional}},
	},
}

// builtinResources returns the built-in resources that scheme has types for,
// in every version that Kubernetes has not removed.
func builtinResources(scheme *runtime.Scheme) []endpoints.Resource {
	var resources []endpoints.Resource
	for group, kinds := range builtins {
		for _, gv := range scheme.PrioritizedVersionsForGroup(group) {
			for _, b := range kinds {
				gvk := gv.WithKind(b.kind)
				if scheme.Recognizes(gvk) && !isRemoved(scheme, gvk) {
					resources = append(resources, b.resource(gvk))
				}
			}
		}
	}
	return resources
}

// isRemoved reports whether kube-apiserver no longer serves a version of a
// kind. The types in k8s.io/api tell when they were removed.
func isRemoved(scheme *runtime.Scheme, gvk schema.GroupVersionKind) bool {
	obj, err := scheme.New(gvk)
	if err != nil {
		return true
	}
	r, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	major, minor := r.APILifecycleRemoved()
	return major < serverMajor || major == serverMajor && minor <= serverMinor
}

// resource is one version of a built-in kind.
func (b builtin) resource(gvk schema.GroupVersionKind) endpoints.Resource {
	has := func(t trait) bool { return slices.Contains(b.traits, t) }
	r := endpoints.Resource{
		GroupVersionKind:  gvk,
		Plural:            b.plural,
		Namespaced:        !has(cluster),
		Status:            has(status) || has(pureStatus),
		Generation:        has(generation),
		Unconditional:     !has(conditional),
		CreateOnUpdate:    has(createOnUpdate),
		ReturnsDeleted:    has(returnsDeleted),
		OrphansDependents: has(orphans),
		Fields:            builtinFields[gvk.GroupKind()],
		Initialize:        builtinInitialize[gvk.GroupKind()],
	}
	if b.short != "" {
		r.ShortNames = []string{b.short}
	}
	if has(status) {
		r.StatusMetadata = func(metav1.Object, metav1.Object) {}
	}
	switch gvk.GroupKind() {
	case corev1.SchemeGroupVersion.WithKind("Pod").GroupKind():
		r.GracePeriod = podGracePeriod
		r.StatusMetadata = func(wanted, current metav1.Object) { wanted.SetOwnerReferences(current.GetOwnerReferences()) }
	case appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind():
		r.CountedMetadata = metav1.Object.GetAnnotations
		r.StatusMetadata = func(wanted, current metav1.Object) { wanted.SetLabels(current.GetLabels()) }
	case discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice").GroupKind():
		r.CountedMetadata = metav1.Object.GetLabels
	}
	return r
}
