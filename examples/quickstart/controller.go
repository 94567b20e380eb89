package main

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/controller"
	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// byDeployment is the index of Pods by the Deployment they belong to.
const byDeployment = "deployment"

// deploymentLabel is the label by which a Pod names its Deployment. On a cluster
// the owner of a Pod is a ReplicaSet; the label saves the detour.
const deploymentLabel = "quickstart.heliograph.example/deployment"

// deploymentOf is the index function: "namespace/name" of a Pod's Deployment.
func deploymentOf(pod *corev1.Pod, values []string) ([]string, error) {
	name := pod.Labels[deploymentLabel]
	if name == "" {
		return values, nil
	}
	return append(values, types.NamespacedName{Namespace: pod.Namespace, Name: name}.String()), nil
}

// readyCounter is the controller: it keeps, for each Deployment, a ConfigMap with
// the number of its ready Pods.
type readyCounter struct {
	client      kubernetes.Interface
	deployments *informer.Informer[*appsv1.Deployment]
	pods        *informer.Informer[*corev1.Pod]
}

// newReadyCounter asks the factory for what it needs to see in a namespace.
func newReadyCounter(ctx context.Context, factory *informer.Factory, client kubernetes.Interface, namespace string) (*readyCounter, error) {
	deployments, err := informer.For(ctx, factory, informer.Options[*appsv1.Deployment]{
		Scope: informer.Scope{Namespace: namespace},
	})
	if err != nil {
		return nil, err
	}
	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{
		Scope:   informer.Scope{Namespace: namespace},
		Indexes: indexer.Indexes[*corev1.Pod]{byDeployment: {Values: deploymentOf}},
	})
	if err != nil {
		return nil, err
	}
	return &readyCounter{client: client, deployments: deployments, pods: pods}, nil
}

// controller makes the controller: changes of Deployments and of their Pods put
// the Deployment's key on its queue.
func (r *readyCounter) controller(workers int) (*controller.Controller, error) {
	c, err := controller.New("ready-counter", r.reconcile, controller.Options{Workers: workers})
	if err != nil {
		return nil, err
	}
	if err := controller.Watch(c, r.deployments, controller.Self); err != nil {
		return nil, err
	}
	return c, controller.Watch(c, r.pods, func(pod *corev1.Pod) []types.NamespacedName {
		if name := pod.Labels[deploymentLabel]; name != "" {
			return []types.NamespacedName{{Namespace: pod.Namespace, Name: name}}
		}
		return nil
	})
}

// reconcile makes the ConfigMap of one Deployment say what the store says.
func (r *readyCounter) reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	maps := r.client.CoreV1().ConfigMaps(key.Namespace)
	if _, ok := r.deployments.Store().Get(key); !ok {
		err := maps.Delete(ctx, mapName(key.Name), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return controller.Result{}, err
	}
	pods, err := r.pods.Store().ByIndex(byDeployment, key.String())
	if err != nil {
		return controller.Result{}, err
	}
	ready := 0
	for _, pod := range pods {
		if isReady(pod) {
			ready++
		}
	}
	return controller.Result{}, r.write(ctx, key, ready)
}

// write creates or updates the ConfigMap of one Deployment.
func (r *readyCounter) write(ctx context.Context, key types.NamespacedName, ready int) error {
	maps := r.client.CoreV1().ConfigMaps(key.Namespace)
	data := map[string]string{"ready": strconv.Itoa(ready)}
	current, err := maps.Get(ctx, mapName(key.Name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: mapName(key.Name), Namespace: key.Namespace},
			Data:       data,
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return fmt.Errorf("ConfigMap of %s: %w", key, err)
	}
	if current.Data["ready"] == data["ready"] {
		return nil
	}
	current.Data = data
	_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
	return err
}

func mapName(deployment string) string { return deployment + "-ready" }

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
