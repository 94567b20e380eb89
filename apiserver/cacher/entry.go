package cacher

import (
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
)

// entry is one state of one object. Everything that watchers would otherwise
// work out each for itself is kept with it, made when first needed: attributes,
// and as long as the window holds the change that brought it, encodings and how
// its coming looks to a selector that only took the state before.
type entry struct {
	key     types.NamespacedName
	uid     types.UID
	version string
	object  runtime.Object

	encoded    storage.Encodings
	attributes atomic.Pointer[attributes]
	left       atomic.Pointer[entry]
}

type attributes struct {
	labels labels.Set
	fields fields.Set
}

// selectedBy reports whether the selection, whose scope has been checked, takes
// the object.
func (e *entry) selectedBy(sel storage.Selection, of storage.AttributesFunc) (bool, error) {
	if !sel.ByContent() {
		return true, nil
	}
	if ok, err := sel.InShard(e.object); !ok || err != nil {
		return false, err
	}
	a := e.attributes.Load()
	if a == nil {
		l, f, err := of(e.object)
		if err != nil {
			return false, apierrors.NewInternalError(fmt.Errorf("attributes of %s: %w", e.key, err))
		}
		a = &attributes{l, f}
		e.attributes.Store(a)
	}
	return sel.Matches(a.labels, a.fields), nil
}

// forgetEvent drops what was kept for the watchers that are told of the event
// which brought this state. A state often outlives it by far, and what it looks
// like in two encodings can take as much memory as the object itself.
func (e *entry) forgetEvent() {
	e.encoded.Forget()
	e.left.Store(nil)
}

// leaving returns what a watcher is told whose selector took before and does not
// take e, the next state: the content it had, at the version of the change. All
// such watchers share it.
func (e *entry) leaving(before *entry) (*entry, error) {
	if left := e.left.Load(); left != nil {
		return left, nil
	}
	left, err := before.at(e.version)
	if err != nil {
		return nil, err
	}
	if !e.left.CompareAndSwap(nil, left) {
		// Another watcher was faster, unless it has been forgotten since.
		if first := e.left.Load(); first != nil {
			left = first
		}
	}
	return left, nil
}

// at returns a copy with another resource version.
func (e *entry) at(version string) (*entry, error) {
	obj := e.object.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.key, err)
	}
	m.SetResourceVersion(version)
	return &entry{key: e.key, uid: e.uid, version: version, object: obj}, nil
}
