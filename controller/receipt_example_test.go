package controller_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/controller"
	"heliograph.example/informer"
)

// A controller that wants three Pods for each key. They have generated names, so
// the server would make any number of them; the receipts see to it that every
// reconcile finds those that the last one has created.
func ExampleWrite() {
	if err := threePods(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 pods
}

func threePods() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		return err
	}
	defer server.Stop()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		return err
	}
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
	if err != nil {
		return err
	}
	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{})
	if err != nil {
		return err
	}
	reconcile := func(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
		if pods.Store().Len() == 3 {
			cancel() // this example has seen enough
			return controller.Result{}, nil
		}
		_, err := controller.Write(ctx, pods, func() (*corev1.Pod, error) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: key.Name + "-"}}
			return client.CoreV1().Pods(key.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		})
		return controller.Result{RequeueAfter: -1}, err // look again at once
	}
	c, err := controller.New("replicas", reconcile, controller.Options{Workers: 1})
	if err != nil {
		return err
	}
	if err := c.Add(types.NamespacedName{Namespace: "default", Name: "web"}); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := pods.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})
	if err := pods.Wait(ctx); err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil {
		return err
	}
	fmt.Println(pods.Store().Len(), "pods")
	return nil
}
