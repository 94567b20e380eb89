package sites

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"heliograph.example/examples/operator/site"
)

// ContentAnnotation tells the servers which page they have to load: a change of it
// replaces them.
const ContentAnnotation = "web.heliograph.example/config-version"

const page = "index.html"

// childMeta is that of all children of a site: they have its name, so that a second try to
// create one meets the first, and go with it.
func childMeta(s *site.Site) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       s.Namespace,
		Name:            s.Name,
		Labels:          selector(s),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, site.Kind)},
	}
}

func selector(s *site.Site) map[string]string { return map[string]string{"site": s.Name} }

// configMap is the ConfigMap that a site should have.
func configMap(s *site.Site) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: childMeta(s), Data: map[string]string{page: s.Spec.Content}}
}

// service is the Service that a site should have.
func service(s *site.Site) *corev1.Service {
	return &corev1.Service{ObjectMeta: childMeta(s), Spec: corev1.ServiceSpec{
		Selector: selector(s),
		Ports:    []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
}

// deployment is the Deployment that a site should have. Its servers load the version of
// the ConfigMap that is given.
func deployment(s *site.Site, configVersion string) *appsv1.Deployment {
	replicas := replicas(s)
	return &appsv1.Deployment{ObjectMeta: childMeta(s), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: selector(s)},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector(s), Annotations: map[string]string{ContentAnnotation: configVersion}},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "web", Image: "registry.example/web:1",
					VolumeMounts: []corev1.VolumeMount{{Name: "content", MountPath: "/srv"}},
				}},
				Volumes: []corev1.Volume{{Name: "content", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: s.Name}},
				}}},
			},
		},
	}}
}

func replicas(s *site.Site) int32 {
	if s.Spec.Replicas == nil {
		return 1
	}
	return *s.Spec.Replicas
}
