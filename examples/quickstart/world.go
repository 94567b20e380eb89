package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// world makes the objects that the controller looks after, and changes them.
type world struct {
	client    kubernetes.Interface
	namespace string
	progress  *progress
}

func (w world) createNamespace(ctx context.Context) error {
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (w world) deleteNamespace(ctx context.Context) error {
	return w.client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{})
}

// populate creates Deployments from to to-1, each with its Pods. Every other Pod
// becomes ready.
func (w world) populate(ctx context.Context, from, to, podsEach int) error {
	for d := from; d < to; d++ {
		name := fmt.Sprintf("app-%03d", d)
		if _, err := w.client.AppsV1().Deployments(w.namespace).Create(ctx, deployment(name), metav1.CreateOptions{}); err != nil {
			return err
		}
		w.progress.wrote()
		for p := range podsEach {
			if err := w.createPod(ctx, name, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w world) createPod(ctx context.Context, app string, p int) error {
	pods := w.client.CoreV1().Pods(w.namespace)
	created, err := pods.Create(ctx, pod(app, p), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.progress.wrote()
	if p%2 != 0 {
		return nil
	}
	created.Status.Phase = corev1.PodRunning
	created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	if _, err = pods.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	w.progress.wrote()
	return nil
}

// thin deletes the first Pod of every third Deployment up to to, and every tenth
// Deployment with all its Pods.
func (w world) thin(ctx context.Context, to, podsEach int) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	for d := range to {
		name := fmt.Sprintf("app-%03d", d)
		last := 0
		switch {
		case d%10 == 0:
			if err := w.client.AppsV1().Deployments(w.namespace).Delete(ctx, name, now); err != nil {
				return err
			}
			w.progress.wrote()
			last = podsEach
		case d%3 == 0:
			last = 1
		}
		for p := range last {
			if err := w.client.CoreV1().Pods(w.namespace).Delete(ctx, podName(name, p), now); err != nil {
				return err
			}
			w.progress.wrote()
		}
	}
	return nil
}

// deployment has no replicas: the quickstart makes the Pods itself, so that it
// works the same on a server without controllers and on a cluster.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func pod(app string, p int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(app, p), Labels: map[string]string{deploymentLabel: app}},
		Spec:       podSpec(),
	}
}

func podName(app string, p int) string { return fmt.Sprintf("%s-%d", app, p) }

// podSpec selects no node, so that on a cluster nothing is really run.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		NodeSelector: map[string]string{"quickstart.heliograph.example/run": "nowhere"},
		Containers:   []corev1.Container{{Name: "main", Image: "pause"}},
	}
}
