package informer_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// server starts an API server in this process; in a program, the config comes
// from rest.InClusterConfig or clientcmd.
func server(ctx context.Context) (stop func(), config *rest.Config, pods typedcorev1.PodInterface) {
	s, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return s.Stop, s.Config(), kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default")
}

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "pause"}}},
	}
}

func create(ctx context.Context, pods typedcorev1.PodInterface, p *corev1.Pod) {
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
}

// A factory finds the resource of a Go type and shares its informer. An index
// answers from memory.
func ExampleFactory() {
	ctx := context.Background()
	stop, config, client := server(ctx)
	defer stop()
	create(ctx, client, pod("web", "worker-1"))
	create(ctx, client, pod("db", "worker-2"))

	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{
		Indexes: indexer.Indexes[*corev1.Pod]{
			"node": {Values: func(p *corev1.Pod, values []string) ([]string, error) {
				return append(values, p.Spec.NodeName), nil
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx)
	defer factory.Stop()
	if err := factory.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	onNode, err := pods.Store().ByIndex("node", "worker-1")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range onNode {
		fmt.Printf("%s has %d pods, %s is on %s\n", pods.Name(), pods.Store().Len(), p.Name, p.Spec.NodeName)
	}
	// Output: pods has 2 pods, web is on worker-1
}

// A handler is made of one function for each type of change.
func ExampleInformer_Handle() {
	ctx := context.Background()
	stop, config, client := server(ctx)
	defer stop()
	create(ctx, client, pod("web", "worker-1"))

	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	gone := make(chan struct{})
	registration, err := pods.Handle(informer.Funcs[*corev1.Pod]{
		Added: func(_ context.Context, p *corev1.Pod, initial bool) {
			fmt.Printf("added %s, initial: %v\n", p.Name, initial)
		},
		Deleted: func(_ context.Context, last *corev1.Pod) {
			fmt.Printf("deleted %s\n", last.Name)
			close(gone)
		},
	}, informer.HandlerOptions[*corev1.Pod]{Name: "printer"})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx)
	defer factory.Stop()
	// The handler is synced when it has returned from what was there.
	if err := registration.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	create(ctx, client, pod("db", "worker-2"))
	if err := client.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		log.Fatal(err)
	}
	<-gone
	// Output:
	// added web, initial: true
	// added db, initial: false
	// deleted web
}

// Changes can be followed by a loop, which ends when its body wants no more.
func ExampleInformer_Changes() {
	ctx := context.Background()
	stop, config, client := server(ctx)
	defer stop()
	create(ctx, client, pod("web", "worker-1"))

	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx)
	defer factory.Stop()
	for change := range pods.Changes(ctx) {
		fmt.Println(change.Type, change.Object().Name)
		if change.Initial {
			create(ctx, client, pod("db", "worker-2"))
			continue
		}
		break
	}
	// Output:
	// Added web
	// Added db
}
