package apiserver_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/fault"
)

func Example() {
	ctx := context.Background()
	faults := &fault.Script{}
	server, err := apiserver.Start(ctx, apiserver.Options{Faults: faults})
	if err != nil {
		panic(err)
	}
	defer server.Stop()

	client := kubernetes.NewForConfigOrDie(server.Config())
	pods := client.CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		panic(err)
	}

	if err := faults.Add(fault.Fault{Verb: "list", Times: 1, Code: 403}); err != nil {
		panic(err)
	}
	_, err = pods.List(ctx, metav1.ListOptions{})
	fmt.Println(err)
	list, err := pods.List(ctx, metav1.ListOptions{})
	fmt.Println(len(list.Items), err)
	for _, r := range server.Requests() {
		fmt.Println(r.Verb, r.Path, r.Code)
	}
	// Output:
	// injected fault: 403 Forbidden
	// 1 <nil>
	// create /api/v1/namespaces/default/pods 201
	// list /api/v1/namespaces/default/pods 403
	// list /api/v1/namespaces/default/pods 200
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		server, err := apiserver.Start(b.Context(), apiserver.Options{})
		if err != nil {
			b.Fatal(err)
		}
		server.Stop()
	}
}
