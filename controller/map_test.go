package controller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestOwner(t *testing.T) {
	pod := newPod("a", "x")
	for name, tt := range map[string]struct {
		kind    schema.GroupKind
		version string
		want    []types.NamespacedName
	}{
		"the kind of the controller":  {replicaSet, "apps/v1", []types.NamespacedName{key("x")}},
		"in any version":              {replicaSet, "apps/v1beta7", []types.NamespacedName{key("x")}},
		"not another group":           {replicaSet, "extensions/v1", nil},
		"not another kind":            {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "apps/v1", nil},
		"not one that cannot be read": {replicaSet, "a/b/c", nil},
		"not another owner":           {schema.GroupKind{Kind: "ConfigMap"}, "apps/v1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pod.DeepCopy()
			pod.OwnerReferences[1].APIVersion = tt.version
			if got := Owner[*corev1.Pod](tt.kind)(pod); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if got := Owner[*corev1.Pod](replicaSet)(newPod("b", "")); got != nil {
		t.Errorf("without an owner: %v", got)
	}
}
