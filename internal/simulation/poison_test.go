package simulation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/reflector"
)

func TestPoisonMakesPoisonousObjectsUnusableAndNoOthers(t *testing.T) {
	for name, c := range map[string]struct {
		spec  MirrorSpec
		stage reflector.Stage
	}{
		"protobuf":                {MirrorSpec{Form: formTyped}, reflector.StageDecode},
		"protobuf in pages":       {MirrorSpec{Form: formTyped, Paged: true}, reflector.StageDecode},
		"JSON":                    {MirrorSpec{Form: formUnstructured}, reflector.StageDecode},
		"JSON in pages":           {MirrorSpec{Form: formUnstructured, Paged: true}, reflector.StageDecode},
		"a transform":             {MirrorSpec{Form: formTyped, Transform: true}, reflector.StageTransform},
		"a transform of metadata": {MirrorSpec{Form: formMetadata, Transform: true}, reflector.StageTransform},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				w, err := newWorld(ctx, t)
				if err != nil {
					t.Fatal(err)
				}
				c.spec.Name, c.spec.Backoff = mirrorAgent, time.Second
				m, err := newMirror(c.spec, w, nil)
				if err != nil {
					t.Fatal(err)
				}
				m.poison(true)
				m.start(ctx)
				create := func(name, number string, data map[string]string) {
					data["write"] = number
					obj := &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{
						Namespace: "a", Name: name, Annotations: map[string]string{writeAnnotation: number},
					}}
					if _, err := w.running().Client().CoreV1().ConfigMaps("a").Create(ctx, obj, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				create("bad", "1"+poisonSuffix, map[string]string{poisonKey: poisonValue})
				create("good", "2", map[string]string{})
				synctest.Wait()
				broken := m.broken()
				if len(m.entries()) != 1 || len(broken) != 1 || broken[0].Err.Key.Name != "bad" || broken[0].Err.Stage != c.stage {
					t.Errorf("%v is held, and %+v is broken", m.entries(), broken)
				}
				m.poison(false)
				time.Sleep(2 * time.Minute)
				if len(m.entries()) != 2 || len(m.broken()) != 0 {
					t.Errorf("after the poison %v is held, and %+v is broken", m.entries(), m.broken())
				}
				if f := m.stop(); f != nil {
					t.Error(f)
				}
				cancel()
				w.down()
				w.following.Wait()
				w.transport.CloseIdleConnections()
			})
		})
	}
}
