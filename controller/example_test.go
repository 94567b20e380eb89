package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/controller"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// collection stands for a server that holds one ConfigMap.
func collection() (reflector.Source[*corev1.ConfigMap], error) {
	list := corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "7"},
		Items: []corev1.ConfigMap{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours", UID: "1", ResourceVersion: "5"},
			Data:       map[string]string{"sky": "blue"},
		}},
	}
	return reflector.FromListerWatcher[*corev1.ConfigMap](&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &list, nil
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if opts.SendInitialEvents != nil {
				return nil, errors.New("this server cannot stream a list")
			}
			return watch.NewFake(), nil
		},
	})
}

func Example() {
	source, err := collection()
	if err != nil {
		fmt.Println(err)
		return
	}
	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{
		Name:      "configmaps",
		Reflector: reflector.Options[*corev1.ConfigMap]{Streaming: reflector.StreamingNever},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	reconcile := func(_ context.Context, key types.NamespacedName) (controller.Result, error) {
		defer cancel()
		cm, ok := configMaps.Store().Get(key)
		if !ok {
			return controller.Result{}, nil // it was deleted
		}
		fmt.Println(key, "says that the sky is", cm.Data["sky"])
		return controller.Result{}, nil
	}
	c, err := controller.New("colours", reconcile, controller.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := controller.Watch(c, configMaps, controller.Self); err != nil {
		fmt.Println(err)
		return
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := configMaps.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})
	if err := c.Run(ctx); err != nil {
		fmt.Println(err)
	}
	running.Wait()
	fmt.Println(c.Status().Reconciles, "reconcile")
	// Output:
	// default/colours says that the sky is blue
	// 1 reconcile
}
