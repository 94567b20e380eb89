package controllerruntime

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"heliograph.example/apiserver"
)

// names of a list of any kind, which has to tell its version.
func names(t *testing.T, list client.ObjectList) (result []string) {
	t.Helper()
	if list.GetResourceVersion() == "" {
		t.Errorf("%T has no version", list)
	}
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		if m.GetUID() == "" {
			t.Errorf("%s has no UID", m.GetName())
		}
		result = append(result, m.GetName())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// lists are empty lists of fleets, as the client can read them.
func lists() map[string]client.ObjectList {
	u, p := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
	u.SetGroupVersionKind(seas.WithKind("FleetList"))
	p.SetGroupVersionKind(seas.WithKind("FleetList"))
	return map[string]client.ObjectList{"typed": &FleetList{}, "unstructured": u, "metadata only": p}
}

func TestListsAreSelectedAndPaged(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, s *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		for i := range 7 {
			f := fleet([]string{"a", "b"}[i%2], fmt.Sprint("f", i), 1, []string{"red", "blue", "green"}[i%3])
			f.Labels = map[string]string{"third": fmt.Sprint(i % 3)}
			if err := c.Create(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range []struct {
			opts []client.ListOption
			want []string
		}{
			{nil, []string{"f0", "f2", "f4", "f6", "f1", "f3", "f5"}},
			{[]client.ListOption{client.InNamespace("b")}, []string{"f1", "f3", "f5"}},
			{[]client.ListOption{client.MatchingLabels{"third": "1"}}, []string{"f4", "f1"}},
			{[]client.ListOption{client.HasLabels{"third"}, client.InNamespace("a"), client.MatchingFields{"spec.color": "red"}}, []string{"f0", "f6"}},
			{[]client.ListOption{client.MatchingFields{"metadata.name": "f5"}}, []string{"f5"}},
			{[]client.ListOption{client.MatchingFields{"metadata.namespace": "a", "spec.color": "green"}}, []string{"f2"}},
			{[]client.ListOption{client.InNamespace("nowhere")}, nil},
		} {
			for form, list := range lists() {
				if err := c.List(ctx, list, one.opts...); err != nil {
					t.Fatalf("%s %v: %v", form, one.opts, err)
				}
				if got := names(t, list); !slices.Equal(got, one.want) {
					t.Errorf("%s %v: got %v, want %v", form, one.opts, got, one.want)
				}
			}
		}
		if err := c.List(ctx, &FleetList{}, client.MatchingFields{"spec.ships": "1"}); !apierrors.IsBadRequest(err) {
			t.Errorf("a field that cannot be selected: %v", err)
		}
		for form := range lists() {
			var got []string
			for token, pages := "", 1; ; pages++ {
				list := lists()[form]
				err := c.List(ctx, list, client.Limit(3), client.Continue(token))
				if pages == 2 && apierrors.IsResourceExpired(err) {
					// What the status offers reads the rest, as it is now.
					token = err.(apierrors.APIStatus).Status().ListMeta.Continue
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, names(t, list)...)
				if token = list.GetContinue(); token == "" {
					if pages != 4 {
						t.Errorf("%s: %d requests, want 3 pages and one that came too late", form, pages)
					}
					break
				}
				if pages == 1 {
					if err := c.Create(ctx, fleet("a", "e"+form[:1], 1, "")); err != nil {
						t.Fatal(err)
					}
					if err := s.Compact(ctx); err != nil {
						t.Fatal(err)
					}
					if err := c.Delete(ctx, fleet("a", "e"+form[:1], 1, "")); err != nil {
						t.Fatal(err)
					}
				}
			}
			if want := []string{"f0", "f2", "f4", "f6", "f1", "f3", "f5"}; !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", form, got, want)
			}
		}
	})
}

// next returns the next event of a watch.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 seconds")
	}
	panic("unreachable")
}

func TestTheClientWatches(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, s *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		if err := c.Create(ctx, fleet("b", "other", 1, "blue")); err != nil {
			t.Fatal(err)
		}
		watches := map[string]watch.Interface{}
		for form, list := range lists() {
			w, err := c.Watch(ctx, list, client.InNamespace("a"), client.MatchingFields{"spec.color": "blue"})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			watches[form] = w
		}
		f := fleet("a", "f", 1, "red")
		if err := c.Create(ctx, f); err != nil {
			t.Fatal(err)
		}
		f.Spec.Color = "blue"
		if err := c.Update(ctx, f); err != nil {
			t.Fatal(err)
		}
		f.Status.Ready = 1
		if err := c.Status().Update(ctx, f); err != nil {
			t.Fatal(err)
		}
		f.Spec.Color = "red"
		if err := c.Update(ctx, f); err != nil {
			t.Fatal(err)
		}
		for form, w := range watches {
			var before string
			for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
				e := next(t, w)
				obj, ok := e.Object.(client.Object)
				if !ok || e.Type != want || obj.GetName() != "f" || obj.GetResourceVersion() == before {
					t.Fatalf("%s: got %s %+v, want %s", form, e.Type, e.Object, want)
				}
				before = obj.GetResourceVersion()
			}
			// What a selector has lost is told with the version of the write.
			if before != f.ResourceVersion {
				t.Errorf("%s: the last event has version %s, want %s", form, before, f.ResourceVersion)
			}
		}
		if n := s.DropWatches(fleetResource); n != len(watches) {
			t.Errorf("%d watches were dropped, want %d", n, len(watches))
		}
		for form, w := range watches {
			select {
			case e, ok := <-w.ResultChan():
				if ok {
					t.Errorf("%s: %+v after the drop", form, e)
				}
			case <-time.After(30 * time.Second):
				t.Errorf("%s: no end within 30 seconds", form)
			}
		}
	})
}
