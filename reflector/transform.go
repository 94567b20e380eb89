package reflector

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"heliograph.example/internal/panics"
)

var errTransformedAway = errors.New("the transform returned nothing")

// transformed cuts the object of it and applies the transform, in place. What the
// transform does wrong becomes an ObjectError.
func (r *Reflector[T]) transformed(it *Item[T]) error {
	it.Object = r.cut.of(it.Object, false)
	if r.opts.Transform == nil {
		return nil
	}
	object, err := r.call(it.Object)
	if err == nil && isNil(object) {
		err = errTransformedAway
	}
	if err != nil {
		return &ObjectError{Key: it.Key, UID: it.UID, Version: it.Version, Stage: StageTransform, Err: err}
	}
	it.Object = object
	return nil
}

// call runs the transform and turns a panic into an error.
func (r *Reflector[T]) call(object T) (result T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panics.New(value)
		}
	}()
	return r.opts.Transform(object)
}

// reject tells of an object that cannot be used.
func (r *Reflector[T]) reject(ctx context.Context, it *Item[T], err error) {
	var problem *ObjectError
	if errors.As(err, &problem) {
		// The source knows the resource, the user's name for it is better.
		named := *problem
		named.Resource, named.Key = r.opts.Name, it.Key
		problem = &named
	} else {
		problem = &ObjectError{
			Resource: r.opts.Name, Key: it.Key, UID: it.UID, Version: it.Version, Stage: StageDecode, Err: err,
		}
	}
	if !r.broken.add(problem) {
		return // it was told when it was news
	}
	r.update(func(s *Status) { s.ObjectErrors++ })
	if r.opts.OnObjectError != nil {
		tell(ctx, r.opts.OnObjectError, problem)
		return
	}
	klog.FromContext(ctx).Error(problem, "An object cannot be used", "resource", r.opts.Name)
}
