// Package endpoints is the HTTP side of the API server: paths and parameters,
// media types, verbs, the rules for writes, the framing of watches, errors as
// kube-apiserver words them, and discovery. What lists and watches contain is
// decided below it, in [storage.Interface].
//
// A [Handler] serves the resources that were registered with it:
//
//	h, err := endpoints.NewHandler(endpoints.Config{Scheme: scheme, Storage: open})
//	err = h.Register(endpoints.Resource{
//		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
//		Plural:           "configmaps",
//		Namespaced:       true,
//		Unconditional:    true,
//	})
//	server := &http.Server{Handler: h}
//
// # The way of a request
//
// The path gives a [Resource] and a verb; the script of faults may answer
// instead; the verb reads parameters and body and calls the storage. Answers
// are encoded whole and sent at once, except for watches, and for lists in JSON
// that is not indented and in protobuf: these are encoded item by item, and sent
// in parts of some 16 KB. An error becomes a Status in the encoding that the
// client accepts; a panic becomes a 500 and harms no other request. Where a part
// has been sent before, the connection is broken off instead, so that nobody
// takes that part for the list.
//
// # Shards
//
// The parameter shardSelector of lists and watches, alpha in Kubernetes 1.37, is
// heeded if [Config] says so, else ignored. It is one more selector: a watch is
// told of what leaves its range as of a delete. Lists of built-in types tell the
// selector in metadata.shardInfo, which is how a client knows that it was heeded;
// other lists and watches do not. One that cannot be read is answered with a 500
// without a reason, as on kube-apiserver.
//
// # Media types
//
// Objects are sent as JSON, YAML or protobuf, whole or as
// PartialObjectMetadata; custom resources have protobuf only for their
// metadata. A clause of an Accept header that cannot be satisfied, such as one
// for a Table, is passed over for the next. Watches are lines of JSON, or
// frames of protobuf with a length in front.
//
// # Watches
//
// The goroutine of the request takes the events that are at hand, encodes
// those that no other watch has encoded before, writes them, and flushes once.
// A watch ends cleanly when its timeout has passed, when it is dropped, or when
// the context of its server ends; a client that does not read can hold it up
// for a second, no longer.
//
// # Writes
//
// Every write is one call of Update or Create of the storage, with the rules
// applied to the current state inside. The server owns uid, creationTimestamp,
// generation, deletionTimestamp and resourceVersion. A main resource keeps its
// status, and a status subresource the spec, and of custom and newer built-in
// kinds also the metadata. A delete of an object that has finalizers, or of a
// kind with grace periods, marks it; the write that removes the last finalizer
// deletes it.
//
// Objects of the storage are shared between requests and never changed here.
package endpoints
