package main

import (
	"context"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
)

// demonstrate follows a server of its own, in which some things happen.
func demonstrate(ctx context.Context, f filter, out io.Writer) error {
	server, err := apiserver.Start(context.WithoutCancel(ctx), apiserver.Options{})
	if err != nil {
		return err
	}
	defer server.Stop()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	played, synced := make(chan error, 1), make(chan struct{})
	go func() {
		defer stop()
		select {
		case <-synced:
			played <- play(ctx, client)
		case <-ctx.Done():
			played <- nil
		}
	}()
	err = tail(ctx, server.Config(), f, out, func(n int, of schema.GroupResource) {
		announce(out)(n, of)
		close(synced)
	})
	stop()
	if failed := <-played; err == nil && failed != nil {
		err = fmt.Errorf("the world of the demonstration: %w", failed)
	}
	return err
}

// pace is the time between two changes.
const pace = 300 * time.Millisecond

// play changes a Deployment now and then.
func play(ctx context.Context, client kubernetes.Interface) error {
	deployments := client.AppsV1().Deployments("default")
	one, three := int32(1), int32(3)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &one,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
		},
	}}
	steps := []func() error{
		func() (err error) { web, err = deployments.Create(ctx, web, metav1.CreateOptions{}); return err },
	}
	for _, change := range []func(){
		func() { web.Spec.Replicas = &three },
		func() { web.Spec.Template.Spec.Containers[0].Image = "registry.example/web:2" },
		func() { web.Labels = map[string]string{"tier": "front"} },
	} {
		steps = append(steps, func() (err error) {
			change()
			web, err = deployments.Update(ctx, web, metav1.UpdateOptions{})
			return err
		})
	}
	steps = append(steps,
		func() (err error) {
			web.Status.ReadyReplicas = 3
			web, err = deployments.UpdateStatus(ctx, web, metav1.UpdateOptions{})
			return err
		},
		func() error { return deployments.Delete(ctx, "web", metav1.DeleteOptions{}) },
		func() error { return nil }, // so that the last change is still shown
	)
	for _, step := range steps {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return nil
		}
		if err := step(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
