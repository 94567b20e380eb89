package informer

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/indexer"
)

func TestOnObjectErrorMayUseTheInformer(t *testing.T) {
	w := newWorld()
	w.set("a", "1")
	var i *configMaps
	told := make(chan *ObjectError, 1)
	i = stopped(t, w, Options[*corev1.ConfigMap]{
		Indexes: indexer.Indexes[*corev1.ConfigMap]{"v": {Values: func(*corev1.ConfigMap, []string) ([]string, error) { return nil, errors.New("no") }}},
		OnObjectError: func(e *ObjectError) {
			if s := i.Status(); s.LastObjectError != e {
				t.Errorf("the last failure is %v, not %v", s.LastObjectError, e)
			}
			reg, err := i.Handle(newRecorder(), HandlerOptions[*corev1.ConfigMap]{})
			if err != nil {
				t.Error(err)
			}
			reg.Remove()
			told <- e
		},
	})
	run(t, i)
	if err := i.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-told; e.Stage != StageIndex {
		t.Errorf("told of %v", e)
	}
}

func TestAnOnObjectErrorThatPanicsStopsNothing(t *testing.T) {
	w := newWorld()
	w.set("a", "bad")
	w.set("b", "1")
	i := running(t, w, Options[*corev1.ConfigMap]{
		Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if m.Data["v"] == "bad" {
				return nil, errors.New("not this one")
			}
			return m, nil
		},
		OnObjectError: func(*ObjectError) { panic("cannot hear it") },
	})
	if s := i.Status(); s.Objects != 1 || s.ObjectErrors != 1 {
		t.Errorf("status %+v", s)
	}
}
