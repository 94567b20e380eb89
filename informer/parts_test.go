package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// restored is a server that is restored from a backup while it is listed: at
// version 100 at first, then in the first page of 200, and from then on at 120.
type restored struct{ lists int }

func (s *restored) List(_ context.Context, opts metav1.ListOptions, each func(configMapItem) error) (reflector.Page, error) {
	if opts.Continue != "" {
		return reflector.Page{}, apierrors.NewInternalError(errors.New("restoring"))
	}
	s.lists++
	object, page := "120", reflector.Page{Version: "120"}
	switch s.lists {
	case 1:
		object, page = "5", reflector.Page{Version: "100"}
	case 2:
		object, page = "150", reflector.Page{Version: "200", Continue: "more"}
	}
	for n := range 10 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("m", n), UID: types.UID(fmt.Sprint(n)), ResourceVersion: object}}
		if err := each(itemOf(m)); err != nil {
			return page, err
		}
	}
	return page, nil
}

func (s *restored) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[*corev1.ConfigMap], error) {
	if opts.ResourceVersion == "100" {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := &worldWatch{world: newWorld(), wake: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w, nil
}

func TestAServerThatIsRestoredBehindAPartOfAListFailsTheWaitsOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, err := New[*corev1.ConfigMap](&restored{}, Options[*corev1.ConfigMap]{Name: "configmaps",
			Reflector: reflector.Options[*corev1.ConfigMap]{Streaming: reflector.StreamingNever, RelistBudget: 1}})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, i)
		defer stop()
		if err := i.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := i.WaitForVersion(ctx, "180"); !errors.Is(err, ErrEpoch) {
			t.Errorf("the wait ended with %v", err)
		}
		if st := i.Status(); st.Version != "120" || st.Reader.Epoch != 1 || st.Objects != 10 {
			t.Errorf("status: %+v", st)
		}
	})
}

func TestAnObjectThatAnIndexLacksIsShownUntilItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for _, name := range []string{"a", "b", "c"} {
			w.set(name, "bad")
		}
		w.set("good", "1")
		byValue := func(m *corev1.ConfigMap, values []string) ([]string, error) {
			if m.Data["v"] == "bad" {
				return nil, errors.New("no value")
			}
			return append(values, m.Data["v"]), nil
		}
		i := running(t, w, Options[*corev1.ConfigMap]{Indexes: indexer.Indexes[*corev1.ConfigMap]{"v": {Values: byValue}}})
		lacking := func() (names []string) {
			synctest.Wait()
			for _, e := range i.Unindexed() {
				names = append(names, e.Key.Name)
				if e.Stage != StageIndex || e.Resource != "configmaps" || e.Version == "" || !strings.Contains(e.Error(), "no value") {
					t.Errorf("%+v", e)
				}
			}
			if n := i.Status().Unindexed; n != len(names) {
				t.Errorf("%d, and %v", n, names)
			}
			return names
		}
		if got := lacking(); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("at first: %v", got)
		}
		w.set("a", "2")
		w.delete("b")
		if got := lacking(); !slices.Equal(got, []string{"c"}) {
			t.Errorf("after an update and a delete: %v", got)
		}
		w.set("c", "3")
		w.set("good", "bad")
		if got := lacking(); !slices.Equal(got, []string{"good"}) {
			t.Errorf("after a bad update: %v", got)
		}
		w.set("good", "1")
		lacking()
		if err := i.AddIndexes(indexer.Indexes[*corev1.ConfigMap]{"late": {Values: func(m *corev1.ConfigMap, values []string) ([]string, error) {
			if m.Name == "a" {
				return nil, errors.New("no value")
			}
			return values, nil
		}}}); err != nil {
			t.Fatal(err)
		}
		if got := lacking(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("after an index was added: %v", got)
		}
	})
}
