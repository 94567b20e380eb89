package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plainSpec is a pod of a Deployment as its author writes it.
func plainSpec() corev1.PodSpec {
	container := func(name string, port int32) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example/shop/" + name + ":1.42.7", Args: []string{"serve", "--listen=:8080", "--log-level=info"},
			Ports: []corev1.ContainerPort{{Name: name, ContainerPort: port}},
			Env:   []corev1.EnvVar{{Name: "REGION", Value: "north"}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop", ReadOnly: true}},
		}
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{container("server", 8080), container("proxy", 15001)},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "shop-config"}},
		}}},
	}
}

// newPod is the i-th pod.
func newPod(i int, spec corev1.PodSpec) *corev1.Pod {
	app := fmt.Sprintf("shop-%04d", i/10)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%05d", app, i), Namespace: namespace,
			Labels:      map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "pod-template-hash": "6b7f9c5d4"},
			Annotations: map[string]string{mark: "x", stamp: fmt.Sprintf(stampFormat, 0), "checksum/config": strings.Repeat("0af3", 16)},
		},
	}
	spec.DeepCopyInto(&pod.Spec)
	return pod
}
