package main

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsHaveTheSizeOfRealOnes(t *testing.T) {
	const n = 500
	var proto, asJSON, managed int
	for i := range n {
		p := makePod(i * 37)
		proto += p.Size()
		js, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		asJSON += len(js)
		for _, m := range p.ManagedFields {
			managed += m.Size()
		}
	}
	t.Logf("protobuf %d, of it managedFields %d, JSON %d bytes", proto/n, managed/n, asJSON/n)
	for _, c := range []struct {
		what          string
		got, min, max int
	}{
		{"protobuf", proto / n, 3800, 4300},
		{"managedFields", managed / n, 900, 1200},
		{"JSON", asJSON / n, 6000, 7500},
	} {
		if c.got < c.min || c.got > c.max {
			t.Errorf("%s: %d bytes a pod, want %d to %d", c.what, c.got, c.min, c.max)
		}
	}
}

func TestPodsDifferInKeyIdentityAndVersion(t *testing.T) {
	const n = 20000
	keys, uids, versions := map[string]bool{}, map[string]bool{}, map[string]bool{}
	nodes := map[string]int{}
	for i := range n {
		p := makePod(i)
		keys[p.Namespace+"/"+p.Name] = true
		uids[string(p.UID)] = true
		versions[p.ResourceVersion] = true
		nodes[p.Spec.NodeName]++
	}
	if len(keys) != n || len(uids) != n || len(versions) != n {
		t.Errorf("%d keys, %d UIDs, %d versions, want %d of each", len(keys), len(uids), len(versions), n)
	}
	for name, pods := range nodes {
		if pods > podsPerNode {
			t.Errorf("%s runs %d pods, want at most %d", name, pods, podsPerNode)
		}
	}
}

func TestTheSameNumberGivesTheSamePod(t *testing.T) {
	if !reflect.DeepEqual(makePod(1234), makePod(1234)) {
		t.Error("two pods of one number differ")
	}
}

func TestPodsOfOneReplicaSetShareTheirTemplate(t *testing.T) {
	a, b, other := makePod(0), makePod(podsPerReplicaSet-1), makePod(podsPerReplicaSet)
	if !reflect.DeepEqual(a.Labels, b.Labels) || !reflect.DeepEqual(env(a), env(b)) {
		t.Error("two pods of one ReplicaSet differ in labels or environment")
	}
	if reflect.DeepEqual(a.Labels, other.Labels) {
		t.Error("pods of different ReplicaSets have the same labels")
	}
}

func env(p *corev1.Pod) []corev1.EnvVar { return p.Spec.Containers[0].Env }
