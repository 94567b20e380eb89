package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/indexer"
)

// thing is an object of no kind that Kubernetes knows.
type thing struct{ key, group string }

var errKeyless = errors.New("no key")

func thingKey(obj any) (string, error) {
	t, ok := obj.(thing)
	if !ok {
		return "", errKeyless
	}
	return t.key, nil
}

func byGroup(obj any) ([]string, error) {
	t := obj.(thing)
	if t.group == "bad" {
		return nil, errors.New("no group")
	}
	return strings.Split(t.group, "+"), nil
}

func TestAnyTwoStringsAreTwoKeys(t *testing.T) {
	keys := []string{"", "a", "a/b", "/a", "//a", "a/", "a/b/c", "/a/b", "a//b", "b/a"}
	s := NewStore(thingKey)
	for _, key := range keys {
		if err := s.Add(thing{key: key, group: "of " + key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range keys {
		if got, ok, err := s.GetByKey(key); err != nil || !ok || got != (thing{key: key, group: "of " + key}) {
			t.Errorf("under %q is %v, %v, %v", key, got, ok, err)
		}
	}
	got := s.ListKeys()
	slices.Sort(got)
	slices.Sort(keys)
	if !slices.Equal(got, keys) {
		t.Errorf("the keys are %q instead of %q", got, keys)
	}
}

func TestAKeyFunctionThatFailsChangesNothingAndIsTold(t *testing.T) {
	s := NewIndexer(thingKey, nil)
	if err := s.Add(thing{key: "kept"}); err != nil {
		t.Fatal(err)
	}
	_, _, getErr := s.Get(5)
	for call, err := range map[string]error{
		"Add": s.Add(5), "Update": s.Update(5), "Delete": s.Delete(5), "Get": getErr,
		"Replace": s.Replace([]any{thing{key: "new"}, 5}, "1"),
	} {
		var keyErr KeyError
		if !errors.As(err, &keyErr) || keyErr.Obj != 5 || !errors.Is(err, errKeyless) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if keys := s.ListKeys(); !slices.Equal(keys, []string{"kept"}) {
		t.Errorf("the store has %q", keys)
	}
}

func TestAnObjectThatCannotBeIndexedIsStoredAndTold(t *testing.T) {
	s := NewIndexer(thingKey, Indexers{"group": byGroup})
	bad := thing{key: "a", group: "bad"}
	var failed *indexer.IndexError
	if err := s.Add(bad); !errors.As(err, &failed) || failed.Index != "group" {
		t.Errorf("Add: %v", err)
	}
	if got, ok, _ := s.GetByKey("a"); !ok || got != bad {
		t.Errorf("stored is %v, %v", got, ok)
	}
	if err := s.Update(thing{key: "a", group: "x+y"}); err != nil {
		t.Errorf("Update: %v", err)
	}
	if keys, err := s.IndexKeys("group", "y"); err != nil || !slices.Equal(keys, []string{"a"}) {
		t.Errorf("the index lists %q, %v", keys, err)
	}
}

func TestIndexFindsWhatHasAValueInCommonOnce(t *testing.T) {
	s := NewIndexer(thingKey, Indexers{"group": byGroup})
	for _, obj := range []thing{{"a", "x+y"}, {"b", "y+z"}, {"c", "z"}} {
		if err := s.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	for group, want := range map[string]int{"x+y": 2, "z": 2, "x+y+z": 3, "w": 0} {
		if found, err := s.Index("group", thing{"", group}); err != nil || len(found) != want {
			t.Errorf("%s: %v, %v", group, found, err)
		}
	}
	_, indexErr := s.Index("none", thing{})
	_, byErr := s.ByIndex("none", "")
	_, keysErr := s.IndexKeys("none", "")
	for _, err := range []error{indexErr, byErr, keysErr} {
		if !errors.Is(err, indexer.ErrUnknownIndex) || !strings.Contains(err.Error(), "none") {
			t.Errorf("an index that there is not: %v", err)
		}
	}
}

func TestIndexersCanBeAddedAtAnyTimeAllOrNone(t *testing.T) {
	s := NewIndexer(thingKey, Indexers{"group": byGroup})
	if err := s.Add(thing{"a", "x"}); err != nil {
		t.Fatal(err)
	}
	for what, more := range map[string]Indexers{
		"taken": {"group": byGroup, "other": byGroup},
		"nil":   {"nothing": nil, "other": byGroup},
	} {
		if err := s.AddIndexers(more); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := s.AddIndexers(Indexers{"other": byGroup}); err != nil {
		t.Error(err)
	}
	if found, err := s.ByIndex("other", "x"); err != nil || len(found) != 1 {
		t.Errorf("the new index lists %v, %v", found, err)
	}
	if n := len(s.GetIndexers()); n != 2 {
		t.Errorf("there are %d indexers", n)
	}
}

func TestAReplaceIsSeenAsAWholeOrNotAtAll(t *testing.T) {
	s := NewIndexer(thingKey, Indexers{"group": byGroup})
	state := func(group string) []any {
		var all []any
		for i := range 100 {
			all = append(all, thing{fmt.Sprint("k", i), group})
		}
		return all
	}
	if err := s.Replace(state("0"), "0"); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list := s.List()
				for _, obj := range list {
					if len(list) != 100 || obj.(thing).group != list[0].(thing).group {
						t.Errorf("%d objects, of %s and %s", len(list), obj.(thing).group, list[0].(thing).group)
						return
					}
				}
			}
		})
	}
	for n := range 200 {
		if err := s.Replace(state(fmt.Sprint(n%3)), fmt.Sprint(n)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
}

func TestATransactionDoesWhatHasKeysAndNamesTheRest(t *testing.T) {
	s := NewIndexer(thingKey, Indexers{"group": byGroup}).(TransactionStore)
	err := s.Transaction(
		Transaction{Type: TransactionTypeAdd, Object: thing{"a", "x"}},
		Transaction{Type: TransactionTypeAdd, Object: 5},
		Transaction{Type: TransactionTypeUpdate, Object: thing{"b", "x"}},
		Transaction{Type: TransactionTypeDelete, Object: thing{"a", "x"}},
	)
	if err == nil || !slices.Equal(err.SuccessfulIndices, []int{0, 2, 3}) || err.TotalTransactions != 4 || len(err.Errors) != 1 {
		t.Errorf("%+v", err)
	}
	if keys := s.(Indexer).ListKeys(); !slices.Equal(keys, []string{"b"}) {
		t.Errorf("the store has %q", keys)
	}
	if err := s.Transaction(); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

func TestAStoreKeepsWhatATransformerMakes(t *testing.T) {
	refused := errors.New("refused")
	s := NewStore(MetaNamespaceKeyFunc, WithTransformer(func(obj any) (any, error) {
		m := obj.(*corev1.ConfigMap)
		if m.Data != nil {
			return nil, refused
		}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, nil
	}))
	if err := s.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	if obj, ok, _ := s.GetByKey("ns/a"); !ok || obj.(*corev1.ConfigMap).Name != "other" {
		t.Errorf("kept is %v, %v", obj, ok)
	}
	if err := s.Add(&corev1.ConfigMap{Data: map[string]string{}, ObjectMeta: metav1.ObjectMeta{Name: "b"}}); !errors.Is(err, refused) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a transformer that fails: %v", err)
	}
}
