package e2e

import (
	"fmt"
	"strings"
)

// sample is an object of a kind, whose traits are compared: whether it counts
// generations, takes updates without a version, is created by them, and is
// returned by its delete.
type sample struct {
	version, kind, plural string
	cluster               bool
	rest                  string
	// known are known differences, by what is done.
	known map[string]differ
}

// Reasons for known differences of some kinds.
const (
	deprecation = "versions that are deprecated are not warned of"
	protection  = "the admission plugin that protects storage in use is missing"
	orphaned    = "jobs that leave orphans are not warned of"
	defaulted   = "a default of the kind"
)

var (
	warned     = differ{"header": deprecation}
	deprecated = map[string]differ{
		"create": warned, "update without a version": warned, "patch": warned, "update what is not there": warned,
		"select by an unknown field": warned, "delete": warned, "delete what the update has created": warned,
	}
	protected  = map[string]differ{"create": {"metadata/finalizers": protection}}
	annotated  = differ{"metadata/annotations/deprecated.daemonset.template.generation": defaulted}
	daemonSets = map[string]differ{
		"create": {"metadata/annotations": defaulted}, "update without a version": {"metadata/annotations": defaulted},
		"patch": annotated, "patch the status": annotated,
	}
	labelled = differ{"metadata/labels": defaulted}
	jobs     = map[string]differ{
		"create": labelled, "select by an unknown field": {"message": "jobs have words of their own"},
		"delete": {"header": orphaned}, "delete what the update has created": {"header": orphaned},
	}
)

// neverSpec is the spec of a pod of a job.
var neverSpec = strings.Replace(podSpec, `"restartPolicy":"Always"`, `"restartPolicy":"Never"`, 1)

var samples = []sample{
	{"v1", "Endpoints", "endpoints", false, ``, deprecated},
	{"v1", "Event", "events", false, `"involvedObject":{"namespace":"{ns}"}`, nil},
	{"v1", "LimitRange", "limitranges", false, `"spec":{"limits":[]}`, nil},
	{"v1", "PersistentVolume", "persistentvolumes", true, `"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}`, protected},
	{"v1", "PersistentVolumeClaim", "persistentvolumeclaims", false, `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`, protected},
	{"v1", "PodTemplate", "podtemplates", false, `"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}}`, nil},
	{"v1", "ReplicationController", "replicationcontrollers", false, `"spec":{"replicas":1,"selector":{"app":"x"},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}}}`, map[string]differ{"create": labelled}},
	{"v1", "ResourceQuota", "resourcequotas", false, `"spec":{"hard":{"pods":"100"}}`, nil},
	{"v1", "Secret", "secrets", false, `"type":"Opaque"`, nil},
	{"v1", "Service", "services", false, `"spec":{"type":"ExternalName","externalName":"example.com"}`, nil},
	{"v1", "ServiceAccount", "serviceaccounts", false, ``, nil},
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", true, ``, nil},
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", true, ``, nil},
	{"apps/v1", "ControllerRevision", "controllerrevisions", false, `"revision":1,"data":{}`, nil},
	{"apps/v1", "DaemonSet", "daemonsets", false, `"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}}}`, daemonSets},
	{"apps/v1", "ReplicaSet", "replicasets", false, `"spec":{"replicas":1,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}}}`, nil},
	{"apps/v1", "StatefulSet", "statefulsets", false, `"spec":{"serviceName":"x","replicas":1,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}}}`, nil},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", false, `"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}`, nil},
	{"batch/v1", "CronJob", "cronjobs", false, `"spec":{"schedule":"0 0 * * *","jobTemplate":{"spec":{"template":{"spec":{` + neverSpec + `}}}}}`, nil},
	{"batch/v1", "Job", "jobs", false, `"spec":{"manualSelector":true,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + neverSpec + `}}}`, jobs},
	{"coordination.k8s.io/v1", "Lease", "leases", false, `"spec":{}`, nil},
	{"discovery.k8s.io/v1", "EndpointSlice", "endpointslices", false, `"addressType":"IPv4","endpoints":[]`, nil},
	{"events.k8s.io/v1", "Event", "events", false, `"eventTime":"2020-01-01T00:00:00.000000Z","reportingController":"example.com/x","reportingInstance":"x","action":"x","reason":"x","type":"Normal","regarding":{"namespace":"{ns}"}`, nil},
	{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", true, `"spec":{"priorityLevelConfiguration":{"name":"x"}}`, nil},
	{"networking.k8s.io/v1", "Ingress", "ingresses", false, `"spec":{"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}`, nil},
	{"networking.k8s.io/v1", "IngressClass", "ingressclasses", true, `"spec":{"controller":"example.com/x"}`, nil},
	{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", false, `"spec":{"podSelector":{},"policyTypes":["Ingress"]}`, nil},
	{"node.k8s.io/v1", "RuntimeClass", "runtimeclasses", true, `"handler":"x"`, nil},
	{"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", false, `"spec":{"minAvailable":1}`, nil},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", true, `"rules":[]`, nil},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", true, `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"x"}`, nil},
	{"rbac.authorization.k8s.io/v1", "Role", "roles", false, `"rules":[]`, nil},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", false, `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"}`, nil},
	{"resource.k8s.io/v1", "DeviceClass", "deviceclasses", true, `"spec":{}`, nil},
	{"resource.k8s.io/v1", "ResourceClaim", "resourceclaims", false, `"spec":{"devices":{}}`, nil},
	{"resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", false, `"spec":{"spec":{"devices":{}}}`, nil},
	{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", true, `"value":5,"preemptionPolicy":"Never"`, nil},
	{"storage.k8s.io/v1", "CSIDriver", "csidrivers", true, `"spec":{}`, nil},
	{"storage.k8s.io/v1", "CSINode", "csinodes", true, `"spec":{"drivers":[]}`, nil},
	{"storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", false, `"storageClassName":"x"`, nil},
	{"storage.k8s.io/v1", "StorageClass", "storageclasses", true, `"provisioner":"example.com/x"`, nil},
	{"storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", true, `"spec":{"attacher":"x","nodeName":"n","source":{"persistentVolumeName":"v"}}`, nil},
	{"storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses", true, `"driverName":"example.com/x","parameters":{"a":"b"}`, protected},
}

// sampled are the exchanges about the samples.
func sampled() []exchange {
	var all []exchange
	for _, s := range samples {
		collection := "/apis/" + s.version
		if s.version == "v1" {
			collection = "/api/v1"
		}
		if !s.cluster {
			collection += "/namespaces/{ns}"
		}
		collection += "/" + s.plural
		body := func(name, metadata string) string {
			rest := s.rest
			if rest != "" {
				rest = "," + rest
			}
			return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"fidelity-%s"%s}%s}`, s.version, s.kind, name, metadata, rest)
		}
		one := collection + "/fidelity-a"
		for _, e := range []exchange{
			{does: "create", send: "POST " + collection, body: body("a", ""), keep: "a"},
			{does: "update without a version", send: "PUT " + one, body: body("a", `,"labels":{"a":"b"}`)},
			{does: "patch", send: "PATCH " + one, as: mergePatch, body: `{"metadata":{"labels":{"a":"c"},"annotations":{"d":"e"}}}`},
			{does: "update what is not there", send: "PUT " + collection + "/fidelity-b", body: body("b", "")},
			{does: "patch the status", send: "PATCH " + one + "/status", as: mergePatch, body: `{"metadata":{"labels":{"f":"g"},"annotations":{"h":"i"}}}`},
			{does: "select by an unknown field", send: "GET " + collection + "?fieldSelector=nope%3Dx"},
			{does: "delete", send: "DELETE " + one},
			{does: "delete what the update has created", send: "DELETE " + collection + "/fidelity-b"},
		} {
			e.known = s.known[e.does]
			e.does = s.kind + ": " + e.does
			e.defaulted = true
			all = append(all, e)
		}
	}
	return all
}
