//lint:file-ignore U1000 What is here is used by tests that are not.

package cache

// What upstream's tests ask of an informer beside its interface.

func eventHandlerCount(i SharedInformer) int {
	return len(i.(*sharedIndexInformer).native.Status().Handlers)
}

func isStarted(i SharedInformer) bool { return i.(*sharedIndexInformer).HasStarted() }

func isRegistered(i SharedInformer, h ResourceEventHandlerRegistration) bool {
	r, ok := h.(*registration)
	return ok && r.informer == i && !isClosed(r.Done())
}
