// Package settings is a small controller: it keeps, in every namespace, a
// ConfigMap named "settings" that tells the team of the namespace's label.
package settings

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"heliograph.example/controller"
	"heliograph.example/informer"
)

const (
	// Name is the name of the ConfigMaps.
	Name = "settings"
	// TeamLabel is the label of a namespace that tells its team, and TeamKey
	// where the ConfigMap has it.
	TeamLabel = "example.com/team"
	TeamKey   = "team"
)

// Controller keeps the ConfigMaps.
type Controller struct {
	client     kubernetes.Interface
	factory    *informer.Factory
	namespaces *informer.Informer[*corev1.Namespace]
	configMaps *informer.Informer[*corev1.ConfigMap]
	controller *controller.Controller
}

// New makes a controller for the server that config leads to.
func New(ctx context.Context, config *rest.Config) (*Controller, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		return nil, err
	}
	c := &Controller{client: client, factory: factory}
	if c.namespaces, err = informer.For(ctx, factory, informer.Options[*corev1.Namespace]{}); err != nil {
		return nil, err
	}
	c.configMaps, err = informer.For(ctx, factory, informer.Options[*corev1.ConfigMap]{
		Scope: informer.Scope{FieldSelector: "metadata.name=" + Name},
	})
	if err != nil {
		return nil, err
	}
	if c.controller, err = controller.New("settings", c.reconcile, controller.Options{Workers: 2}); err != nil {
		return nil, err
	}
	if err := controller.Watch(c.controller, c.namespaces, controller.Self); err != nil {
		return nil, err
	}
	// A ConfigMap that somebody changes or deletes concerns its namespace.
	err = controller.Watch(c.controller, c.configMaps, func(cm *corev1.ConfigMap) []types.NamespacedName {
		return []types.NamespacedName{{Name: cm.Namespace}}
	})
	return c, err
}

// Run runs the controller until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	c.factory.Start(ctx)
	defer c.factory.Stop()
	return c.controller.Run(ctx)
}

// reconcile makes the ConfigMap of one namespace what it should be.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	namespace, ok := c.namespaces.Store().Get(key)
	if !ok || namespace.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	want := map[string]string{TeamKey: namespace.Labels[TeamLabel]}
	client := c.client.CoreV1().ConfigMaps(key.Name)
	current, ok := c.configMaps.Store().Get(types.NamespacedName{Namespace: key.Name, Name: Name})
	if !ok {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}, Data: want}
		_, err := client.Create(ctx, cm, metav1.CreateOptions{})
		return controller.Result{}, err
	}
	if maps.Equal(current.Data, want) {
		return controller.Result{}, nil
	}
	// The copy keeps the resource version, so that the write of somebody that
	// the store has not seen yet is not overwritten but a conflict.
	changed := current.DeepCopy()
	changed.Data = want
	_, err := client.Update(ctx, changed, metav1.UpdateOptions{})
	return controller.Result{}, err
}
