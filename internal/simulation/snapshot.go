package simulation

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// pinned is a snapshot of a store that is open for a while.
type pinned struct {
	check func() error
	close func()
}

func pin[T reflector.Object](store indexer.Reader[T], state func(T) State) *pinned {
	snapshot := store.Snapshot()
	version, then := snapshot.Version(), entriesOf(snapshot, state)
	return &pinned{close: snapshot.Close, check: func() error {
		if v := snapshot.Version(); v != version {
			return fmt.Errorf("one of version %s has version %s", version, v)
		}
		if now := entriesOf(snapshot, state); !maps.Equal(now, then) || snapshot.Len() != len(then) {
			return fmt.Errorf("one of version %s, of %d objects: %s", version, snapshot.Len(), difference(now, then))
		}
		return checkIndexes(snapshot)
	}}
}

func entriesOf[T reflector.Object](store indexer.Reader[T], state func(T) State) map[types.NamespacedName]State {
	out := make(map[types.NamespacedName]State)
	for e := range store.Entries() {
		out[e.Key] = state(e.Object)
	}
	return out
}
