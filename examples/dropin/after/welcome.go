// Package welcome has a controller that keeps a ConfigMap "welcome" in each namespace.
package welcome

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"heliograph.example/clientgo/cache"
	"heliograph.example/clientgo/informers"
	"heliograph.example/clientgo/workqueue"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
)

// Controller keeps the ConfigMaps.
type Controller struct {
	client     kubernetes.Interface
	namespaces listers.NamespaceLister
	configMaps listers.ConfigMapLister
	handlers   []cache.DoneChecker
	queue      workqueue.TypedRateLimitingInterface[string]
}

// New returns a controller that reads from the informers of factory, which the caller
// starts afterwards.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory) (*Controller, error) {
	c := &Controller{
		client:     client,
		namespaces: factory.Core().V1().Namespaces().Lister(),
		configMaps: factory.Core().V1().ConfigMaps().Lister(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "welcome"}),
	}
	// A ConfigMap is told of by its namespace, and a namespace by its name.
	for informer, key := range map[cache.SharedIndexInformer]func(metav1.Object) string{
		factory.Core().V1().Namespaces().Informer(): metav1.Object.GetName,
		factory.Core().V1().ConfigMaps().Informer(): metav1.Object.GetNamespace,
	} {
		enqueue := func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if object, ok := obj.(metav1.Object); ok {
				c.queue.Add(key(object))
			}
		}
		handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, obj any) { enqueue(obj) },
			DeleteFunc: enqueue,
		})
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", informer, err)
		}
		c.handlers = append(c.handlers, handler.HasSyncedChecker())
	}
	return c, nil
}

// Run works with a number of workers until ctx ends.
func (c *Controller) Run(ctx context.Context, workers int) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	if !cache.WaitFor(ctx, "welcome", c.handlers...) {
		return fmt.Errorf("the informers are not synced: %w", context.Cause(ctx))
	}
	for range workers {
		running.Go(func() {
			for c.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// work takes one namespace from the queue.
func (c *Controller) work(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if err := c.reconcile(ctx, name); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Namespace was not welcomed", "namespace", name)
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

// reconcile lets a namespace have its ConfigMap.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	_, err := c.namespaces.Get(name)
	if apierrors.IsNotFound(err) {
		return nil // what was in it goes with it
	}
	_, exists := c.configMaps.ConfigMaps(name).Get("welcome")
	if err != nil || !apierrors.IsNotFound(exists) {
		return errors.Join(err, exists)
	}
	_, err = c.client.CoreV1().ConfigMaps(name).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "welcome"},
		Data:       map[string]string{"text": "Welcome to " + name},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // the lister will tell
	}
	return err
}
