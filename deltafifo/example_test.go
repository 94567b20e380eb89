package deltafifo_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

func Example() {
	queue, err := deltafifo.New[string](deltafifo.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	err = queue.Push([]deltafifo.Delta[string]{
		{Type: deltafifo.Added, Key: key, UID: "u1", Version: "1", Object: "starting"},
		{Type: deltafifo.Updated, Key: key, UID: "u1", Version: "2", Object: "ready"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Close()

	for {
		batch, err := queue.Pop(context.Background())
		if errors.Is(err, deltafifo.ErrClosed) {
			return
		}
		for _, d := range batch {
			fmt.Println(d.Type, d.Key, d.Version, d.Object)
		}
	}
	// Output:
	// Added default/web 1 starting
	// Updated default/web 2 ready
}

// A queue over its budget keeps what its consumer needs to know. The store of
// this one is empty, so the pod that came and went is forgotten; that the newest
// version is 6 is not.
func ExampleOptions_holds() {
	queue, err := deltafifo.New[string](deltafifo.Options{
		Budget: 4,
		Holds:  func(types.NamespacedName) bool { return false },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := types.NamespacedName{Name: "web"}
	job := types.NamespacedName{Name: "job"}
	err = queue.Push([]deltafifo.Delta[string]{
		{Type: deltafifo.Added, Key: job, UID: "u1", Version: "1"},
		{Type: deltafifo.Added, Key: web, UID: "u2", Version: "2"},
		{Type: deltafifo.Updated, Key: web, UID: "u2", Version: "3"},
		{Type: deltafifo.Updated, Key: job, UID: "u1", Version: "4"},
		{Type: deltafifo.Updated, Key: web, UID: "u2", Version: "5"},
		{Type: deltafifo.Deleted, Key: job, UID: "u1", Version: "6"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := queue.Pop(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range batch {
		fmt.Println(d.Type, d.Key.Name, d.Version)
	}
	// Output:
	// Added web 5
	// Bookmark  6
}
