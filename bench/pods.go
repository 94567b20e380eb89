package main

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// podsPerReplicaSet pods share a template, as they do in a cluster: this
	// decides how much a reader can gain by sharing equal parts.
	podsPerReplicaSet = 10
	// podsPerNode is about what a kubelet runs; nodesPerZone nodes are filled in
	// turn, so that the pods of a ReplicaSet sit on different ones.
	podsPerNode  = 40
	nodesPerZone = 200
	// namespaces is the number of namespaces that the pods are spread over.
	namespaces = 50
)

// epoch is the creation time of the first pod. It is fixed, so that every run
// sends the same bytes.
var epoch = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// makePod builds the i-th pod of the collection: what a Deployment's pod with two
// containers looks like when it runs. It takes about 4 KB as protobuf, of which
// about 1 KB are managedFields. The same i gives the same pod.
func makePod(i int) *corev1.Pod {
	rs := i / podsPerReplicaSet
	app := fmt.Sprintf("svc-%04d", rs)
	created := metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
	hash := word(5, "template", rs)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              app + "-" + hash + "-" + word(4, "pod", i) + strconv.Itoa(i%podsPerReplicaSet),
			GenerateName:      app + "-" + hash + "-",
			Namespace:         fmt.Sprintf("team-%02d", rs%namespaces),
			UID:               uid("pod", i),
			ResourceVersion:   strconv.Itoa(i + 1),
			Generation:        1,
			CreationTimestamp: created,
			Labels: map[string]string{
				"app.kubernetes.io/name":     app,
				"app.kubernetes.io/instance": app,
				"app.kubernetes.io/part-of":  fmt.Sprintf("product-%02d", rs%namespaces),
				"app.kubernetes.io/version":  "v1.42." + strconv.Itoa(rs%17),
				"pod-template-hash":          hash,
				"topology.example.com/tier":  "backend",
			},
			Annotations: map[string]string{
				"checksum/config":              word(64, "config", rs),
				"prometheus.io/scrape":         "true",
				"prometheus.io/port":           "8080",
				"kubectl.kubernetes.io/origin": "deploy/" + app,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: uid("rs", rs),
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
			ManagedFields: managedFields(created, uid("rs", rs)),
		},
		Spec:   podSpec(i, rs, app),
		Status: podStatus(i, rs, app, created),
	}
}

// nodeOf returns the number of the node that the i-th pod runs on.
func nodeOf(i int) int { return i/(podsPerNode*nodesPerZone)*nodesPerZone + i%nodesPerZone }

func nodeName(node int) string { return fmt.Sprintf("node-%04d.example.internal", node) }

func imageOf(rs int) string {
	return fmt.Sprintf("registry.example.internal/team-%02d/svc-%04d:v1.42.%d", rs%namespaces, rs, rs%17)
}

const sidecarImage = "registry.example.internal/platform/proxy:v2.19.3"

func podSpec(i, rs int, app string) corev1.PodSpec {
	// The name of the token's volume is drawn for each pod, so that the mounts in
	// its containers differ between the pods of one template.
	token := "kube-api-access-" + word(5, "token", i)
	return corev1.PodSpec{
		NodeName:                      nodeName(nodeOf(i)),
		ServiceAccountName:            app,
		DeprecatedServiceAccount:      app,
		RestartPolicy:                 corev1.RestartPolicyAlways,
		DNSPolicy:                     corev1.DNSClusterFirst,
		SchedulerName:                 corev1.DefaultSchedulerName,
		TerminationGracePeriodSeconds: ptr.To(int64(30)),
		EnableServiceLinks:            ptr.To(true),
		Priority:                      ptr.To(int32(0)),
		PreemptionPolicy:              ptr.To(corev1.PreemptLowerPriority),
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), FSGroup: ptr.To(int64(2000))},
		Containers:                    []corev1.Container{mainContainer(rs, app, token), sidecar(token)},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}, DefaultMode: ptr.To(int32(420))}}},
			{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			tokenVolume(token),
		},
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(300))},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(300))},
		},
	}
}

func mainContainer(rs int, app, token string) corev1.Container {
	return corev1.Container{
		Name:            "app",
		Image:           imageOf(rs),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Args:            []string{"--listen=:8080", "--config=/etc/app/config.yaml", "--log-format=json"},
		Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
			{Name: "POD_NAMESPACE", ValueFrom: fieldRef("metadata.namespace")},
			{Name: "SERVICE", Value: app},
			{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector.observability.svc:4317"},
			{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-db"}, Key: "password"}}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/app", ReadOnly: true},
			{Name: "cache", MountPath: "/var/cache/app"},
			{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		ReadinessProbe:           probe("/readyz", 10),
		LivenessProbe:            probe("/healthz", 20),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		SecurityContext:          &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true)},
	}
}

func sidecar(token string) corev1.Container {
	return corev1.Container{
		Name:            "proxy",
		Image:           sidecarImage,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Args:            []string{"proxy", "sidecar", "--concurrency=2"},
		Env:             []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")}, {Name: "PROXY_LOG_LEVEL", Value: "warning"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To(int32(420)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}}}
}

func podStatus(i, rs int, app string, created metav1.Time) corev1.PodStatus {
	at := metav1.NewTime(created.Add(4 * time.Second))
	ip := fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&0xff, i&0xff)
	host := fmt.Sprintf("172.16.%d.%d", nodeOf(i)>>8, nodeOf(i)&0xff)
	started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	return corev1.PodStatus{
		Phase:     corev1.PodRunning,
		HostIP:    host,
		HostIPs:   []corev1.HostIP{{IP: host}},
		PodIP:     ip,
		PodIPs:    []corev1.PodIP{{IP: ip}},
		StartTime: &created,
		QOSClass:  corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: at},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: created},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: created},
		},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "app", Image: imageOf(rs), ImageID: imageOf(rs) + "@sha256:" + word(64, app, rs), ContainerID: "containerd://" + word(64, "app", i),
				Ready: true, Started: ptr.To(true), State: started},
			{Name: "proxy", Image: sidecarImage, ImageID: sidecarImage + "@sha256:" + word(64, "proxy", 0), ContainerID: "containerd://" + word(64, "proxy", i),
				Ready: true, Started: ptr.To(true), State: started, RestartCount: int32(i % 3)},
		},
	}
}

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func probe(path string, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
		PeriodSeconds: period, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

// managedFields is what the controller manager and a kubelet leave behind: the
// second entry differs between pods only in its time.
func managedFields(created metav1.Time, owner types.UID) []metav1.ManagedFieldsEntry {
	at := metav1.NewTime(created.Add(4 * time.Second))
	spec := `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"` + string(owner) + `\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:args":{},"f:env":{},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{},"f:name":{},"f:ports":{},"f:readinessProbe":{},"f:resources":{},"f:securityContext":{},"f:volumeMounts":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:serviceAccount":{},"f:terminationGracePeriodSeconds":{},"f:volumes":{}}}`
	status := `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{}},"f:startTime":{}}}`
	return []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &created,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(spec)},
		{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(status), Subresource: "status"},
	}
}

// word returns length characters that depend on what and i only.
func word(length int, what string, i int) string {
	const digits = "0123456789abcdef"
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", what, i)
	x := h.Sum64()
	out := make([]byte, length)
	for n := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[n] = digits[x>>32&15]
	}
	return string(out)
}

// uid returns an identity that looks like a random UUID.
func uid(what string, i int) types.UID {
	w := word(32, "uid "+what, i)
	return types.UID(w[:8] + "-" + w[8:12] + "-4" + w[13:16] + "-a" + w[17:20] + "-" + w[20:])
}
