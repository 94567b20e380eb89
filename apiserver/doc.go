// Package apiserver is a Kubernetes API server in the test process: no
// binaries, no containers, ready in a millisecond, and as strict about lists,
// watches and resource versions as the real one.
//
//	server, err := apiserver.Start(ctx, apiserver.Options{})
//	if err != nil {
//		return err
//	}
//	defer server.Stop()
//	client, err := kubernetes.NewForConfig(server.Config())
//
// Every client of client-go works with it unmodified: typed (as JSON and as
// protobuf), dynamic, metadata, discovery and REST mapper, informers with
// streaming lists. It serves all built-in kinds that client-go has types for,
// and custom resources that [Options] or [Server.Register] declare, written out
// as a [Resource] or read from the YAML of their CustomResourceDefinitions:
//
//	resources, err := apiserver.ResourcesFromCRD(yaml)
//	if err != nil {
//		return err
//	}
//	server, err := apiserver.Start(ctx, apiserver.Options{Resources: resources})
//
// Definitions declare what is served before a test begins, and their schemas are
// ignored; the server has no resource customresourcedefinitions.
//
// # Faults
//
// [Options].Faults is a script of what goes wrong with requests, by verb,
// resource, client and count: errors, delays, watches that end, break, stall,
// are slow or keep bookmarks back, answers that are lost after the write was
// done, dead connections, servers without streaming lists; see package fault.
// [Server.Requests] tells what clients did.
//
// Faults that have no request to wait for are methods, and what clients see of
// them is this:
//
//	DropWatches  open watches end cleanly
//	BlackHole    nothing, on old connections and new ones, until it is lifted
//	Compact      410 Expired for a watch from an older version (as an ERROR
//	             event), for an exact list, and for the next page of a list
//	Freeze       a stale replica: version "0" and watches stand still, a newer
//	             version is a 504 with the cause ResourceVersionTooLarge after
//	             three seconds
//	Unready      watches end; lists and watches get a 429 with a growing
//	             Retry-After
//	Thaw         the end of Freeze and Unready
//	Restore      an older state (of [Server.Snapshot]) at its old version; a
//	             later version is one of the future: a 504 as above for a list,
//	             silence for a watch
//
// # What differs from kube-apiserver
//
// The server has no controllers, as kube-apiserver has none: nothing schedules,
// collects garbage or empties namespaces. So a Job or a ReplicationController
// that is deleted without a propagation policy stays with the finalizer orphan.
// Beyond that, the server keeps to what clients see of the storage of objects (a
// test in e2e asks it and kube-apiserver the same questions), and leaves out:
//
//   - Conversion between versions. Each served version of a kind is a resource
//     of its own with objects of its own: an autoscaling/v1 object is not seen
//     in autoscaling/v2, nor an Event of the core group in events.k8s.io.
//     Versions that Kubernetes 1.37 has removed are not served.
//   - Defaults and validation of kinds. Only metadata is checked; new Pods and
//     claims get their phase, and Namespaces the label with their name.
//   - Authentication, authorization and admission. Namespaces need not exist,
//     and go at once when they are deleted.
//   - managedFields and server-side apply: the former are not tracked and
//     dropped from what clients send, the latter is answered with 415.
//   - Subresources other than status, tables, WebSocket and gzip, OpenAPI,
//     warnings of deprecated versions.
//     kubectl gets plain objects, which it prints as names and ages.
//   - Graceful deletion of pods is done only if the pod or the delete names a
//     grace period, and then somebody has to play the kubelet.
//   - Slow watches are not ended until they are thousands of events behind,
//     unless [Options].WatchBacklog is set.
//   - shardSelector, where [Options] turn it on, is read without the parentheses,
//     comments and escapes that CEL permits.
//   - deletecollection does not wait for other writers: it deletes what it
//     found by a list.
package apiserver
