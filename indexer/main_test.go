package indexer

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is what every implementation of the store offers.
type store interface {
	Reader[*thing]
	Update(fn func(tx Tx[*thing]))
	AddIndexes(indexes Indexes[*thing]) (failed []*IndexError, err error)
	Indexes() []string
}

// newStore makes an empty store of one implementation.
type newStore func(indexes Indexes[*thing]) (store, error)

func newIndexer(indexes Indexes[*thing]) (store, error) {
	s, err := New(indexes)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// newUninlined makes a store that treats its objects as if they were no pointers.
func newUninlined(indexes Indexes[*thing]) (store, error) {
	s, err := New(indexes)
	if err != nil {
		return nil, err
	}
	s.core.inline = false
	return s, nil
}

func TestIndexerOfValuesConforms(t *testing.T) { testStore(t, newUninlined) }

func TestIndexerOfValuesAgreesWithTheModel(t *testing.T) { testModel(t, newUninlined, 1, wantSound) }

func TestIndexerOfValuesIsConsistentForConcurrentReaders(t *testing.T) {
	testConcurrency(t, newUninlined)
}

func TestIndexerConforms(t *testing.T) { testStore(t, newIndexer) }

func TestIndexerAgreesWithTheModel(t *testing.T) { testModel(t, newIndexer, 4, wantSound) }

func TestIndexerIsConsistentForConcurrentReaders(t *testing.T) { testConcurrency(t, newIndexer) }

// thing is an object whose index values are set by the test.
type thing struct {
	id     int
	amount int
	// values are those in the index "values"; fails and panics make its
	// function fail instead.
	values []string
	fails  error
	panics any
	// color is the value in the index "color".
	color string
}

var (
	byValues = Index[*thing]{Values: valuesOf}
	byColor  = Index[*thing]{Values: colorOf, Ordered: true}
	byAll    = Index[*thing]{Values: func(_ *thing, values []string) ([]string, error) { return append(values, "all"), nil }}
	things   = Indexes[*thing]{"values": byValues, "color": byColor}
)

// valuesOf hands out a slice of the object, which nobody may write to.
func valuesOf(o *thing, _ []string) ([]string, error) {
	if o.panics != nil {
		panic(o.panics)
	}
	return o.values, o.fails
}

func colorOf(o *thing, values []string) ([]string, error) { return append(values, o.color), nil }

func makeStore(t testing.TB, create newStore, indexes Indexes[*thing]) store {
	t.Helper()
	s, err := create(indexes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func entryOf(name string, o *thing) Entry[*thing] {
	return Entry[*thing]{Key: named(name), UID: types.UID("uid-of-" + name), Version: "1", Object: o}
}

// put stores one object in a transaction of its own and returns the error.
func put(s store, name string, o *thing) error {
	var err error
	s.Update(func(tx Tx[*thing]) { err = tx.Put(entryOf(name, o)) })
	return err
}

func mustPut(t testing.TB, s store, name string, o *thing) {
	t.Helper()
	if err := put(s, name, o); err != nil {
		t.Fatal(err)
	}
}

func remove(s store, name string) {
	s.Update(func(tx Tx[*thing]) { tx.Delete(named(name)) })
}

func errorOf[T any](_ T, err error) error { return err }

var errBad = errors.New("bad object")
