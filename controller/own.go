package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

// WriteOver is [Write] for an update that was made of base, the state that the
// reconcile has read, and that carries its resource version, so that the server refuses
// it if anybody else has written since. Watches with [WatchOptions].SkipOwn do not
// reconcile its key again because of it: the reconcile knows what it wrote.
//
//	site := old.DeepCopy()
//	site.Status.Ready = true
//	_, err := controller.WriteOver(ctx, sites, old, func() (*Site, error) {
//		return client.UpdateStatus(ctx, site, metav1.UpdateOptions{})
//	})
//
// A patch whose body has no resource version can meet a state that is newer than base:
// use Write for it.
func WriteOver[O metav1.Object, T any](ctx context.Context, inf Mirror[T], base metav1.Object, write func() (O, error)) (O, error) {
	var none O
	b, err := bookOf(ctx, inf)
	switch {
	case err != nil:
		return none, err
	case isNil(base) || base.GetUID() == "" || base.GetResourceVersion() == "":
		return none, fmt.Errorf("controller %s: receipt in %s: %w: the base is nil, or has no uid or resource version", b.shift.name, inf.Name(), errInvalid)
	}
	uid, from := base.GetUID(), base.GetResourceVersion()
	to := ""
	b.shift.own.begin(uid, b.key)
	defer func() { b.shift.own.end(uid, b.key, from, to) }() // also if write panics
	obj, err := Write(ctx, inf, write)
	if err == nil && obj.GetUID() == uid {
		to = obj.GetResourceVersion()
	}
	return obj, err
}

// own is what the reconciles of a run have written over what they had read. It is there
// to tell, of an update of an object, whether there is anything in it that the reconcile
// of a key has not written itself.
type own struct {
	mu      sync.Mutex
	objects map[types.UID]*ownObject
	// order has the objects from the oldest record on, some of them perhaps no
	// longer there.
	order []types.UID
}

// ownObject is what is known of an object. A reconcile writes one object at a time in
// most cases, so there is little.
type ownObject struct {
	steps []ownStep
	// writing are the keys whose reconciles are writing it at this moment: the
	// answer to a write often comes later than the event that tells of it.
	writing []types.NamespacedName
	waiting []ownEvent
}

// ownStep is an update from one version to the next, by the reconcile of a key.
type ownStep struct {
	from, to string
	key      types.NamespacedName
}

// ownEvent is an update that a watch has told of while its key was writing.
type ownEvent struct {
	from, to string
	key      types.NamespacedName
	add      func()
}

// What is forgotten costs a reconcile that would not have been needed.
const (
	ownObjects = 4096 // that are remembered
	ownSteps   = 16   // of one object
	ownEvents  = 16   // of one object, that wait for an answer
)

func (o *own) begin(uid types.UID, key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = make(map[types.UID]*ownObject)
	}
	at := o.objects[uid]
	if at == nil {
		at = &ownObject{}
		o.objects[uid] = at
		o.order = append(o.order, uid)
		o.shrink()
	}
	at.writing = append(at.writing, key)
}

// shrink forgets the oldest records, but not of what is being written at this moment.
func (o *own) shrink() {
	for n := len(o.order); n > 0 && len(o.order) > ownObjects; n-- {
		first := o.order[0]
		o.order = o.order[1:]
		if at := o.objects[first]; at != nil && len(at.writing) > 0 {
			o.order = append(o.order, first)
			continue
		}
		delete(o.objects, first)
	}
}

// end notes the version that a write has led to, empty if that is not known, and
// decides about the events that waited for it.
func (o *own) end(uid types.UID, key types.NamespacedName, from, to string) {
	o.mu.Lock()
	at := o.objects[uid]
	if at == nil {
		o.mu.Unlock()
		return
	}
	if i := slices.Index(at.writing, key); i >= 0 {
		at.writing = slices.Delete(at.writing, i, i+1)
	}
	if to != "" && to != from {
		at.steps = append(at.steps, ownStep{from, to, key})
		at.steps = at.steps[max(0, len(at.steps)-ownSteps):]
	}
	var foreign []func()
	at.waiting = slices.DeleteFunc(at.waiting, func(e ownEvent) bool {
		if e.key != key || slices.Contains(at.writing, key) {
			return false
		}
		if !at.wrote(e.from, e.to, key) {
			foreign = append(foreign, e.add)
		}
		return true
	})
	o.mu.Unlock()
	for _, add := range foreign {
		add()
	}
}

// skip reports whether a key need not be reconciled for an update of an object because
// its own reconcile has written all of it. If that cannot be told yet, it reports true,
// and add is called later unless it turns out so.
func (o *own) skip(uid types.UID, from, to string, key types.NamespacedName, add func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.objects[uid]
	switch {
	case at == nil:
		return false
	case at.wrote(from, to, key):
		return true
	case !slices.Contains(at.writing, key) || len(at.waiting) == ownEvents:
		return false
	}
	at.waiting = append(at.waiting, ownEvent{from, to, key, add})
	return true
}

// wrote reports whether updates by the reconciles of a key, and nothing else, lead from
// one version to another. It takes each step once at most: versions of a server that
// went back in time can form a circle.
func (at *ownObject) wrote(from, to string, key types.NamespacedName) bool {
	for range at.steps {
		if to == from {
			return true
		}
		i := slices.IndexFunc(at.steps, func(s ownStep) bool { return s.to == to && s.key == key })
		if i < 0 {
			return false
		}
		to = at.steps[i].from
	}
	return to == from
}

// forget forgets an object that was deleted.
func (o *own) forget(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := o.objects[uid]; at != nil && len(at.writing) == 0 {
		delete(o.objects, uid)
	}
}

// ownsUpdate tells, for a change that is an update, the identity of the object and its
// two versions.
func ownsUpdate[T any](c informer.Change[T]) (uid types.UID, from, to string, ok bool) {
	before, _ := any(c.Old).(metav1.Object)
	after, _ := any(c.New).(metav1.Object)
	if !isUpdate(c) || c.Resync || isNil(before) || isNil(after) || before.GetUID() != after.GetUID() {
		return "", "", "", false
	}
	return after.GetUID(), before.GetResourceVersion(), after.GetResourceVersion(), true
}
