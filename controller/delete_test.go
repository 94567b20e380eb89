package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAKeyIsHeldUntilItsDeletesShow(t *testing.T) {
	bubble(t, "as absence", func(t *testing.T) {
		w := newWriter(t, Options{}, newPod("child", ""))
		child, _ := w.pods.Store().Get(key("child"))
		w.expect(t, slowness, func(ctx context.Context) {
			if err := Delete(ctx, w.pods, child, func() error { w.srv.remove(key("child")); return nil }); err != nil {
				t.Error(err)
			}
		})
		w.expect(t, 0, func(ctx context.Context) { // it is gone already
			if err := Delete(ctx, w.pods, child, func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	})
	bubble(t, "as an object that is going", func(t *testing.T) {
		w := newWriter(t, Options{}, newPod("child", ""))
		child, _ := w.pods.Store().Get(key("child"))
		w.expect(t, slowness, func(ctx context.Context) {
			err := Delete(ctx, w.pods, child, func() error {
				_, err := w.put("child", func(pod *corev1.Pod) {
					pod.Finalizers, pod.DeletionTimestamp = []string{"a/b"}, &metav1.Time{Time: time.Now()}
				})()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	bubble(t, "as another object of the name", func(t *testing.T) {
		w := newWriter(t, Options{}, newPod("child", ""))
		child, _ := w.pods.Store().Get(key("child"))
		w.expect(t, slowness, func(ctx context.Context) {
			err := Delete(ctx, w.pods, child, func() error {
				w.srv.remove(key("child"))
				_, err := w.put("child", func(pod *corev1.Pod) { pod.UID = "other" })()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	bubble(t, "but not if they fail, nor longer than the limit", func(t *testing.T) {
		w := newWriter(t, Options{ReceiptTimeout: time.Minute}, newPod("child", ""))
		child, _ := w.pods.Store().Get(key("child"))
		w.expect(t, 0, func(ctx context.Context) {
			if err := Delete(ctx, w.pods, child, func() error { return errFailed }); err != errFailed {
				t.Errorf("Delete: %v", err)
			}
		})
		w.expect(t, time.Minute, func(ctx context.Context) {
			if err := Delete(ctx, w.pods, child, func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
		if told := w.all(); len(told) != 1 || !strings.Contains(told[0].err.Error(), "pods without default/child") {
			t.Errorf("told: %v", told)
		}
	})
}
