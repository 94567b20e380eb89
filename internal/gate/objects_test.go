package gate

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// objects is how many objects a collection has, and perTemplate how many of them
// have one template.
const (
	objects     = 2000
	perTemplate = 10
)

var epoch = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func keyOf(p metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: p.GetNamespace(), Name: p.GetName()}
}

// pod builds the i-th pod of a collection at a version: two containers, a status
// and managedFields, and much in common with the others of its template.
func pod(i, version int) *corev1.Pod {
	template := i / perTemplate
	app := fmt.Sprintf("svc-%04d", template)
	created := metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
	labels := map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "product-" + strconv.Itoa(template%7), "pod-template-hash": fmt.Sprintf("%08x", template*7919),
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%05x", app, i*31), Namespace: fmt.Sprintf("team-%02d", template%50), UID: types.UID(fmt.Sprintf("5f0c-%08d", i)),
			ResourceVersion: fmt.Sprint(version), CreationTimestamp: created, Labels: labels,
			Annotations: map[string]string{"checksum/config": fmt.Sprintf("%064x", template), "prometheus.io/scrape": "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(fmt.Sprintf("91ab-%08d", template)),
				Controller: ptr.To(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &created,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},"f:phase":{},"f:podIP":{}}}`)}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%03d", i%40), ServiceAccountName: app, RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{container("app", "registry.example/"+app+":v1"), container("proxy", "registry.example/proxy:v2")},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app}}}}},
			Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.64.%d.%d", i>>8, i&0xff), HostIP: fmt.Sprintf("172.16.0.%d", i%40), StartTime: &created,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: created},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: created},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "registry.example/" + app + ":v1", ContainerID: fmt.Sprintf("containerd://%064d", i),
				Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}}}},
		},
	}
}

func container(name, image string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"--listen=:8080", "--config=/etc/config.yaml"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env:   []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")}},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app", ReadOnly: true}},
	}
}
