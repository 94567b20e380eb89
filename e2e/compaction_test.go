package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/e2e/harness"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// podTemplates are a kind of which the server keeps no watch cache: what etcd has
// forgotten is gone.
var podTemplates = kind{"PodTemplate", "podtemplates", 0, func(m metav1.ObjectMeta) runtime.Object {
	return &corev1.PodTemplate{ObjectMeta: m, Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/main:1"}}},
	}}
}}

// templatesIn is the subject for the PodTemplates of a namespace.
func templatesIn(t *testing.T, f *informer.Factory, namespace string, options reflector.Options[*corev1.PodTemplate]) *informed[*corev1.PodTemplate] {
	t.Helper()
	c := client(t, protobufConfig())
	return tunedSubject(t, f, podTemplates,
		informer.Options[*corev1.PodTemplate]{Scope: informer.Scope{Namespace: namespace}, Reflector: options},
		func(ctx context.Context) ([]*corev1.PodTemplate, error) {
			list, err := c.CoreV1().PodTemplates(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			return pointers(list.Items), nil
		})
}

func compact(t *testing.T) {
	t.Helper()
	version, err := cluster.Compact(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("etcd has forgotten all before version %d", version)
}

func TestACompactionListsAnewOnlyWhereHistoryIsGone(t *testing.T) {
	tests := []struct {
		name      string
		kind      kind
		compacted bool
		streams   int
	}{
		{"cached", configMaps, true, 1},
		{"uncached", podTemplates, false, 1},
		{"uncached and compacted", podTemplates, true, 2},
	}
	for n, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const number = 60
			namespace := fmt.Sprintf("compacted-%d", n)
			c := client(t, protobufConfig())
			makeNamespace(t, c, namespace)
			fill(t, c, namespace, test.kind, number)
			l := newLine(t, protobufConfig())
			var s subject
			if test.kind.plural == podTemplates.plural {
				s = templatesIn(t, l.factory, namespace, reflector.Options[*corev1.PodTemplate]{})
			} else {
				s = mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
			}
			l.start(t)
			l.proxy.Deny(true)
			w := writer{c.CoreV1().RESTClient(), namespace, test.kind}
			for n := 1; n <= 30; n++ {
				if err := rewrite(t.Context(), w, n); err != nil {
					t.Fatal(err)
				}
			}
			if test.compacted {
				compact(t)
			}
			comesTo(t, s, reflector.BackingOff, 1)
			l.proxy.Deny(false)
			finish(t, c, namespace, []subject{s})
			proved(t, s)
			y := count(t, l.agent, test.kind.plural)
			t.Logf("ours: %v", y)
			if y.streams != test.streams || y.lists != 0 || y.watches > 4 {
				t.Errorf("the server was asked for %v, want %d streaming lists, no other, and at most 4 watches", y, test.streams)
			}
		})
	}
}

// rewrite deletes, replaces or changes the object with a number.
func rewrite(ctx context.Context, w writer, n int) error {
	name := fmt.Sprintf("%s-%05d", w.kind.plural, n)
	switch n % 3 {
	case 0:
		return w.delete(ctx, name)
	case 1:
		if err := w.delete(ctx, name); err != nil {
			return err
		}
		return w.create(ctx, name, "green")
	}
	_, err := w.paint(ctx, name, "blue", n)
	return err
}

func TestACompactionInMidChurnIsNotNoticed(t *testing.T) {
	const namespace, writes = "churned", 600
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 100)
	l := newLine(t, protobufConfig())
	s := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	l.start(t)
	histories := shakeAnd(t, namespace, []subject{s}, 306, writes, func(n int) error {
		if n != writes/2 {
			return nil
		}
		_, err := cluster.Compact(t.Context())
		return err
	})
	proved(t, s)
	if err := s.judge(histories[configMaps.plural]); err != nil {
		t.Error(err)
	}
	l.listedOnce(t, s, 2)
}

func TestAPagedListThatExpiresBetweenTwoPagesIsReadAgainInPages(t *testing.T) {
	const namespace, number, page = "paged", 120, 50
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, podTemplates, number)
	w := writer{c.CoreV1().RESTClient(), namespace, podTemplates}
	expired := false
	traffic := &harness.Traffic{Refuse: func(r harness.Request, req *http.Request) *http.Response {
		if r.Resource == podTemplates.plural && !expired && r.Query.Get("continue") != "" {
			expired = true
			for n := 1; n <= 30; n++ {
				if err := rewrite(t.Context(), w, n); err != nil {
					t.Error(err)
				}
			}
			if _, err := cluster.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return refuseStreaming(r, req)
	}}
	l := newLine(t, traffic.Attach(protobufConfig()))
	s := templatesIn(t, l.factory, namespace, reflector.Options[*corev1.PodTemplate]{PageSize: page})
	l.start(t)
	proved(t, s)
	for _, told := range s.handlers[0].Told() {
		if !told.Initial {
			t.Errorf("the handler was told %v %v of a list that was given up", told.Type, told.Key)
		}
	}
	// The page of the list that broke off, the one that was refused, and the
	// pages of the second list.
	y := count(t, l.agent, podTemplates.plural)
	t.Logf("ours: %v", y)
	if !expired || y.lists != 2 || y.pages != 1+(number-10-1)/page {
		t.Errorf("the server was asked for %v (compacted: %v), want 2 lists and %d further pages", y, expired, 1+(number-10-1)/page)
	}
}
