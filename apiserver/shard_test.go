package apiserver_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"heliograph.example/apiserver"
)

const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

func TestTwoShardsShareTheObjects(t *testing.T) {
	s := start(t, apiserver.Options{ShardSelector: true})
	maps, ctx := client(t, s, "").CoreV1().ConfigMaps("a"), t.Context()
	create := func(i int) *corev1.ConfigMap {
		cm, err := maps.Create(ctx, configMap(fmt.Sprintf("m%02d", i)), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm
	}
	const before, after = 40, 60
	for i := range before {
		create(i)
	}
	watches := map[string]watch.Interface{}
	seen := map[string]bool{}
	for _, shard := range []string{lowerHalf, upperHalf} {
		opts := metav1.ListOptions{ShardSelector: shard, Limit: 7}
		for {
			list, err := maps.List(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			if list.ShardInfo == nil || list.ShardInfo.Selector != shard || list.RemainingItemCount != nil {
				t.Errorf("list metadata of %s: %+v", shard, list.ListMeta)
			}
			for _, cm := range list.Items {
				if low := sharding.HashField(string(cm.UID)) < "8"; low != (shard == lowerHalf) || seen[cm.Name] {
					t.Errorf("%s (%s) is in %s", cm.Name, cm.UID, shard)
				}
				seen[cm.Name] = true
			}
			if opts.Continue = list.Continue; opts.Continue != "" {
				continue
			}
			w, err := maps.Watch(ctx, metav1.ListOptions{ShardSelector: shard, ResourceVersion: list.ResourceVersion})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			watches[shard] = w
			break
		}
	}
	if len(seen) != before {
		t.Errorf("both shards have %d objects, not %d", len(seen), before)
	}
	for i := before; i < after; i++ {
		cm := create(i)
		shard := upperHalf
		if sharding.HashField(string(cm.UID)) < "8" {
			shard = lowerHalf
		}
		// Nothing of the other shard comes before it.
		if e := next(t, watches[shard]); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != cm.Name {
			t.Errorf("event %+v, want %s", e, cm.Name)
		}
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{ShardSelector: lowerHalf}); err != nil {
		t.Fatal(err)
	}
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 || len(list.Items) == after || list.ShardInfo != nil {
		t.Fatalf("%d objects are left, %+v, %v", len(list.Items), list.ListMeta, err)
	}
	for _, cm := range list.Items {
		if sharding.HashField(string(cm.UID)) < "8" {
			t.Errorf("%s has not been deleted", cm.Name)
		}
	}
}

func TestOnlyListsOfBuiltinTypesTellTheirShard(t *testing.T) {
	scheme := gadgetScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed := apiserver.Resource{GroupVersionKind: gadgets.WithKind("Gadget"), Namespaced: true}
	s := start(t, apiserver.Options{Scheme: scheme, Resources: []apiserver.Resource{widgets, typed}, ShardSelector: true})
	c, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	opts := metav1.ListOptions{ShardSelector: upperHalf + "||" + lowerHalf}
	createWidget(t, t.Context(), c, "x", "red")
	for resource, want := range map[string]bool{"configmaps": true, "gadgets": false, "widgets": false} {
		gvr := gadgets.WithResource(resource)
		if want {
			gvr = corev1.SchemeGroupVersion.WithResource(resource)
		}
		list, err := c.Resource(gvr).List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		info, told := list.Object["metadata"].(map[string]any)["shardInfo"].(map[string]any)
		if told != want || told && info["selector"] != upperHalf+" || "+lowerHalf {
			t.Errorf("%s: shardInfo %v", resource, info)
		}
		if resource == "widgets" && len(list.Items) != 1 {
			t.Errorf("%d widgets", len(list.Items))
		}
	}
	m, err := metadata.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).List(t.Context(), opts)
	if err != nil || list.ShardInfo != nil {
		t.Errorf("a list of metadata: %+v, %v", list, err)
	}
}

func TestABadShardSelectorIsA500WhereItIsHeeded(t *testing.T) {
	garbage := metav1.ListOptions{ShardSelector: "garbage"}
	maps, ctx := client(t, start(t, apiserver.Options{ShardSelector: true}), "").CoreV1().ConfigMaps("a"), t.Context()
	_, listErr := maps.List(ctx, garbage)
	_, watchErr := maps.Watch(ctx, garbage)
	for _, err := range []error{listErr, watchErr} {
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != 500 || status.Status().Reason != "" {
			t.Errorf("%#v", err)
		}
	}

	maps = client(t, start(t, apiserver.Options{}), "").CoreV1().ConfigMaps("a")
	if _, err := maps.Create(ctx, configMap("m"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, shard := range []string{"garbage", "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')"} {
		list, err := maps.List(ctx, metav1.ListOptions{ShardSelector: shard})
		if err != nil || len(list.Items) != 1 || list.ShardInfo != nil {
			t.Errorf("%q is not ignored: %+v, %v", shard, list, err)
		}
		w, err := maps.Watch(ctx, metav1.ListOptions{ShardSelector: shard})
		if err != nil {
			t.Fatal(err)
		}
		if e := next(t, w); e.Type != watch.Added {
			t.Errorf("%q: event %+v", shard, e)
		}
		w.Stop()
	}
}
