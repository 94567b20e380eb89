package cacher

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/history"
	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// sink is the side of a Cacher that its reflector sees.
type sink struct {
	cache *Cacher
}

var _ reflector.Sink[runtime.Object] = sink{}

// Push implements [reflector.Sink]. It applies all changes under one lock, so
// that state, window and version never disagree, and then wakes whoever waits.
func (s sink) Push(deltas []deltafifo.Delta[runtime.Object]) error {
	c := s.cache
	if err := c.lockThawed(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	next, revision, ready := c.window.Next(), c.window.Revision(), c.ready
	for i := range deltas {
		if err := c.apply(&deltas[i]); err != nil {
			return fmt.Errorf("watch cache of %s: %w", c.resource, err)
		}
	}
	if c.window.Next() != next {
		c.wakeWatchers()
	}
	if c.window.Revision() != revision || c.ready != ready {
		c.wakeReaders()
	}
	return nil
}

func (c *Cacher) apply(d *deltafifo.Delta[runtime.Object]) error {
	version, err := strconv.ParseUint(d.Version, 10, 64)
	if err != nil {
		return fmt.Errorf("%s of %s: version: %w", d.Type, d.Key, err)
	}
	switch d.Type {
	case deltafifo.Replaced:
		return c.replace(version, d.Items)
	case deltafifo.Bookmark:
		c.window.Advance(version)
		return nil
	case deltafifo.Added, deltafifo.Updated, deltafifo.Deleted:
	default:
		return fmt.Errorf("change of unknown type %s", d.Type)
	}
	if version <= c.window.Revision() {
		// Told before: versions of one resource never go back but by a list.
		return nil
	}
	key := storage.KeyString(d.Key)
	if d.Type != deltafifo.Deleted {
		e, err := newEntry(d)
		if err != nil {
			return err
		}
		c.window.Set(version, key, e)
		return nil
	}
	last := c.window.Get(key)
	if last == nil {
		c.window.Advance(version)
		return nil
	}
	final, err := finalEntry(d, last)
	if err != nil {
		return err
	}
	c.window.Delete(version, key, final)
	return nil
}

// replace begins with the state of a complete list. Whatever happened between
// the state before and this one was not seen, so unless nothing can have
// happened, the window begins anew: watchers fall off and come back, and those
// from before the list are told that they are too old.
func (c *Cacher) replace(version uint64, items []deltafifo.Delta[runtime.Object]) error {
	if c.ready && len(items) == 0 && version == c.window.Revision() {
		return nil
	}
	state := maps.Collect(c.window.Now().Prefix("", ""))
	for i := range items {
		d := &items[i]
		if d.Type == deltafifo.Deleted {
			delete(state, storage.KeyString(d.Key))
			continue
		}
		e, err := newEntry(d)
		if err != nil {
			return err
		}
		e.forgetEvent() // no event has brought it
		state[storage.KeyString(d.Key)] = e
	}
	c.window.Reset(version)
	for key, e := range state {
		c.window.Load(key, e)
	}
	c.began = 0
	if !c.ready {
		c.ready, c.began = true, version
	}
	return nil
}

func newEntry(d *deltafifo.Delta[runtime.Object]) (*entry, error) {
	if d.Object == nil {
		return nil, fmt.Errorf("%s of %s has no object", d.Type, d.Key)
	}
	return &entry{key: d.Key, uid: d.UID, version: d.Version, object: d.Object}, nil
}

// finalEntry is the entry that tells of a delete: the last state, which the
// store sends along, at the version of the delete.
func finalEntry(d *deltafifo.Delta[runtime.Object], last *entry) (*entry, error) {
	if d.Object == nil {
		return last.at(d.Version)
	}
	return newEntry(d)
}

// Known implements [reflector.Sink].
func (s sink) Known(context.Context) (reflector.Known, error) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return known{s.cache.window.Now()}, nil
}

// known is one state of the cache as the reflector compares with it.
type known struct {
	view *history.View[entry]
}

// Lookup implements [reflector.Known].
func (k known) Lookup(key types.NamespacedName) (types.UID, string, bool) {
	e := k.view.Get(storage.KeyString(key))
	if e == nil {
		return "", "", false
	}
	return e.uid, e.version, true
}

// Keys implements [reflector.Known].
func (k known) Keys() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for _, e := range k.view.Prefix("", "") {
			if !yield(e.key) {
				return
			}
		}
	}
}

// Len implements [reflector.Known].
func (k known) Len() int { return k.view.Len() }
