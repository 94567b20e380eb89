package indexer_test

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
)

type server struct {
	name  string
	zones []string
}

func Example() {
	store, err := indexer.New(indexer.Indexes[*server]{
		"zone": {Values: func(s *server, values []string) ([]string, error) { return append(values, s.zones...), nil }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	store.Update(func(tx indexer.Tx[*server]) {
		for _, s := range []*server{{"a", []string{"north"}}, {"b", []string{"north", "south"}}} {
			key := types.NamespacedName{Name: s.name}
			err = errors.Join(err, tx.Put(indexer.Entry[*server]{Key: key, Object: s}))
		}
		tx.SetVersion("2")
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, zone := range []string{"north", "south"} {
		found, err := store.ByIndex("zone", zone)
		if err != nil {
			fmt.Println(err)
			return
		}
		names := []string{}
		for _, s := range found {
			names = append(names, s.name)
		}
		slices.Sort(names)
		fmt.Println(zone, names)
	}
	fmt.Println("version", store.Version())
	// Output:
	// north [a b]
	// south [b]
	// version 2
}

func ExampleIndexer_AddIndexes() {
	store, err := indexer.New[*server](nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	store.Update(func(tx indexer.Tx[*server]) {
		for _, name := range []string{"a", "bad"} {
			key := types.NamespacedName{Name: name}
			err = errors.Join(err, tx.Put(indexer.Entry[*server]{Key: key, Object: &server{name: name}}))
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	failed, err := store.AddIndexes(indexer.Indexes[*server]{
		"letter": {Values: func(s *server, values []string) ([]string, error) {
			if s.name == "bad" {
				return nil, errors.New("not a letter")
			}
			return append(values, s.name), nil
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range failed {
		fmt.Println(f)
	}
	keys, err := store.IndexKeys("letter", "a")
	fmt.Println(keys, err)
	_, err = store.IndexKeys("word", "a")
	fmt.Println(err)
	// Output:
	// index "letter" of object "/bad": not a letter
	// [/a] <nil>
	// unknown index "word" (known are ["letter"])
}
