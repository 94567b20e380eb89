package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"heliograph.example/informer"
)

// scoped is an informer that reads only a part.
type scoped struct {
	*informer.Informer[*corev1.Pod]
	scope informer.Scope
}

func (s *scoped) Scope() informer.Scope { return s.scope }

func TestWhatTheInformerDoesNotReadIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		scope informer.Scope
		want  time.Duration
	}{
		"everything":         {informer.Scope{}, slowness},
		"its namespace":      {informer.Scope{Namespace: "default"}, slowness},
		"another namespace":  {informer.Scope{Namespace: "other"}, 0},
		"its labels":         {informer.Scope{LabelSelector: "app in (web, db)"}, slowness},
		"other labels":       {informer.Scope{LabelSelector: "app=db"}, 0},
		"its name":           {informer.Scope{FieldSelector: "metadata.name=child"}, slowness},
		"another name":       {informer.Scope{FieldSelector: "metadata.name=other"}, 0},
		"all but its name":   {informer.Scope{FieldSelector: "metadata.name!=child"}, 0},
		"a field of its own": {informer.Scope{FieldSelector: "spec.nodeName=n"}, slowness},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWriter(t, Options{})
			w.expect(t, tt.want, func(ctx context.Context) {
				must[*corev1.Pod](t)(Write(ctx, &scoped{w.pods, tt.scope}, w.put("child", func(pod *corev1.Pod) {
					pod.Labels = labels.Set{"app": "web"}
				})))
			})
		})
	}
	leave := informer.Scope{LabelSelector: "app=web"}
	bubble(t, "unless the write leads out of what it reads", func(t *testing.T) {
		w := newWriter(t, Options{}, newPod("child", ""))
		w.expect(t, slowness, func(ctx context.Context) {
			must[*corev1.Pod](t)(Write(ctx, &scoped{w.pods, leave}, w.put("child", nothing)))
		})
	})
	bubble(t, "or follows one that is read", func(t *testing.T) {
		w := newWriter(t, Options{})
		inf := &scoped{w.pods, leave}
		w.expect(t, slowness+slowness/2, func(ctx context.Context) {
			must[*corev1.Pod](t)(Write(ctx, inf, w.put("child", func(pod *corev1.Pod) { pod.Labels = labels.Set{"app": "web"} })))
			time.Sleep(slowness / 2)
			must[*corev1.Pod](t)(Write(ctx, inf, w.put("child", nothing)))
		})
	})
}
