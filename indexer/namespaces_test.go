package indexer

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

func TestAnEntryIsThatOfItsKeyOnly(t *testing.T) {
	var keys []types.NamespacedName
	for _, namespace := range []string{"", "a", "b", "shop"} {
		for _, n := range []int{0, 1, 31, 32, 33, 63, 64, 65, 253} {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: strings.Repeat("x", n)})
			if n > 0 {
				first, last := "y"+strings.Repeat("x", n-1), strings.Repeat("x", n-1)+"z"
				keys = append(keys, types.NamespacedName{Namespace: namespace, Name: first}, types.NamespacedName{Namespace: namespace, Name: last})
			}
		}
	}
	for _, key := range keys {
		e := newEntry[*thing](key, 1)
		if e.key != key {
			t.Errorf("the entry of %v has the key %v", key, e.key)
		}
		for _, other := range keys {
			if got, want := e.is(other), key == other; got != want {
				t.Errorf("the entry of %v is that of %v: %v, want %v", key, other, got, want)
			}
		}
	}
}

func TestEntriesShareTheTextOfTheirNamespace(t *testing.T) {
	s, err := New(Indexes[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[*byte]bool{}
	for i := range 10 {
		key := types.NamespacedName{Namespace: strings.Clone("shop"), Name: fmt.Sprint("pod-", i)}
		s.Update(func(tx Tx[*thing]) { err = tx.Put(Entry[*thing]{Key: key, Object: &thing{id: i}}) })
		if err != nil {
			t.Fatal(err)
		}
		found, ok := s.Entry(key)
		if !ok || found.Key != key {
			t.Fatalf("%v is stored under %v", key, found.Key)
		}
		text := unsafe.StringData(found.Key.Namespace)
		if text == unsafe.StringData(key.Namespace) {
			t.Error("the store keeps the text of an object")
		}
		texts[text] = true
	}
	if len(texts) != 1 {
		t.Errorf("one namespace has %d texts", len(texts))
	}
}

func TestANamespaceStaysTheSameHoweverManyThereAre(t *testing.T) {
	var met namespaces
	seed := maphash.MakeSeed()
	for i := range 70_000 {
		if want := fmt.Sprint("namespace-", i); met.share(seed, want) != want {
			t.Fatalf("%q became another namespace", want)
		}
	}
	if met.share(seed, "") != "" {
		t.Error("no namespace became one")
	}
}
