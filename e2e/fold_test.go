package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/informer"
)

// foldWrites is the number of writes to foldObjects objects: many more than the
// budget of the slow handler.
const (
	foldWrites  = 2000
	foldObjects = 24
)

func TestASlowHandlerOfFewBusyObjectsIsToldAFoldedTruth(t *testing.T) {
	const namespace = "busy"
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, foldObjects)
	factory, err := informer.NewFactory(protobufConfig(), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The selector goes to the server, which tells of what leaves it as a delete.
	selected := func(selector string) *informed[*corev1.ConfigMap] {
		scope := informer.Scope{Namespace: namespace, LabelSelector: selector}
		return newSubject(t, factory, configMaps, scope, func(ctx context.Context) ([]*corev1.ConfigMap, error) {
			list, err := c.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return nil, err
			}
			return pointers(list.Items), nil
		})
	}
	whole, part := selected(""), selected(colorLabel+"=red")
	subjects := []subject{whole, part}
	factory.Start(t.Context())
	defer factory.Stop()
	synced(t, factory)
	histories := shake(t, namespace, subjects, 201, foldWrites)
	settle(t, subjects)
	for _, s := range subjects {
		if err := s.agrees(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.judge(histories[configMaps.plural]); err != nil {
			t.Error(err)
		}
		t.Log(s.counts())
	}
	for _, s := range []*informed[*corev1.ConfigMap]{whole, part} {
		if every, slow := s.handlers[0], s.handlers[1]; slow.Len() >= every.Len() {
			t.Errorf("%s: the slow handler was told %d changes, the quick one %d: nothing was folded", s.informer.Name(), slow.Len(), every.Len())
		}
	}
}
