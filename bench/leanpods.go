package main

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// leanObjects is the size of the collections whose objects matter less than
	// what is done with them.
	leanObjects = 100_000
	// leanPerNode is how many lean pods have one value of the index by node.
	leanPerNode = 100
)

// leanCount is leanObjects, or less in a quick run.
func leanCount(o options) int {
	if o.quick {
		return leanObjects / 100
	}
	return leanObjects
}

func leanNode(i int) string { return "node-" + strconv.Itoa(i/leanPerNode) }

// makeLean builds a pod that has what stores and indexes look at, and no more.
func makeLean(i int) *corev1.Pod {
	rs := i / podsPerReplicaSet
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("svc-%05d-%s", rs, word(5, "lean", i)), Namespace: fmt.Sprintf("team-%02d", rs%namespaces),
			UID: uid("lean", i), ResourceVersion: initialVersion(i),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", UID: uid("rs", rs), Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: leanNode(i)},
	}
}
