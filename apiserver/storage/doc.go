// Package storage keeps the objects of an API server: versions, history, lists
// at any version, watches from any version, and the rules that a client of
// Kubernetes knows them by.
//
// It has two layers. A [Backend] keeps bytes under keys as etcd does; [Memory]
// is one. A [Store] keeps the objects of one resource in a Backend and
// implements [Interface], which is all that the HTTP side needs:
//
//	backend := storage.NewMemory()
//	pods, err := storage.NewStore(backend, storage.StoreOptions{
//		GroupResource: schema.GroupResource{Resource: "pods"},
//		Codec:         codec,
//		NewFunc:       func() runtime.Object { return new(corev1.Pod) },
//	})
//	pod, err := pods.Create(ctx, key, pod)
//
// # Versions
//
// The resource version of an object is the revision of its key: one counter for
// the whole backend, raised by each change of any resource. It is not part of
// the stored bytes but stamped on whatever is read. A write that leaves the
// bytes as they are is none: no new version, no event.
//
// # Lists
//
// [ParseList] joins the parameters. A list is of one state: the newest (no
// version, or "not older than"), or that of an exact version. Pages go on at the
// version of the first one by a continue token, which has the format of
// kube-apiserver. A version that has been compacted is a 410 Expired; on a later
// page it carries a token that goes on in the newest state instead. A version
// that has not been reached is a 504 with the cause ResourceVersionTooLarge.
//
// # Watches
//
// [ParseWatch] says where a watch begins. From then on each change is told once
// and in order. With a selector, an object that begins to match is Added, and
// one that ceases to is Deleted, with its last matching content and the version
// of the change. A watch that cannot be told everything gets a 410 from Next,
// not from Watch, because that is where a client of kube-apiserver meets it.
//
// A watch of a Store has no goroutine and no buffer: it is a cursor on the
// history of the backend. It ends early only if it is so slow that the history
// has moved past it.
package storage
