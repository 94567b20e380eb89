package reflector_test

import (
	"context"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// printer is a sink that holds nothing: every list is news to it.
type printer struct {
	done context.CancelFunc
}

func (p printer) Push(deltas []deltafifo.Delta[*unstructured.Unstructured]) error {
	for _, d := range deltas {
		if d.Type == deltafifo.Replaced {
			for _, item := range d.Items {
				fmt.Println("listed", item.Key, item.Object.GetLabels()["color"])
			}
			p.done()
		}
	}
	return nil
}

func (p printer) Known(context.Context) (reflector.Known, error) { return nothing{}, nil }

type nothing struct{}

func (nothing) Lookup(types.NamespacedName) (types.UID, string, bool) { return "", "", false }
func (nothing) Keys() iter.Seq[types.NamespacedName]                  { return func(func(types.NamespacedName) bool) {} }
func (nothing) Len() int                                              { return 0 }

func Example() {
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	widget.SetNamespace("default")
	widget.SetName("first")
	widget.SetLabels(map[string]string{"color": "blue"})
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{widgets: "WidgetList"}, widget)

	source, err := reflector.NewDynamicSource(client, widgets, reflector.SourceOptions{Namespace: metav1.NamespaceDefault})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := reflector.New(source, printer{cancel}, reflector.Options[*unstructured.Unstructured]{Name: "widgets in default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Run(ctx), r.Status().Synced)
	// Output:
	// listed default/first blue
	// <nil> true
}
