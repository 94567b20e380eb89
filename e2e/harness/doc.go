// Package harness runs a genuine Kubernetes API server beside a test: etcd
// inside the test's process, kube-apiserver as its child. Everything listens on
// 127.0.0.1 or on a unix socket in a temporary folder.
//
//	cluster, err := harness.Start(ctx, path, harness.Options{})
//	defer cluster.Stop()
//	client, err := kubernetes.NewForConfig(cluster.Config())
//
// The server is as it comes, with three switches set for tests: no limit on
// requests in flight, Pods need no service account (no controller makes one
// here), and etcd does not wait for the disk. [Cluster.StopServer] or
// [Cluster.KillServer] take the server away in the middle of a watch, and
// [Cluster.StartServer] brings it back on the same port with the same data, but
// a new watch cache.
//
// [Cluster.Compact] takes etcd's history away.
//
// [Traffic] counts what a client asks of the server, to tell a streaming list
// from a paged one. [Cluster.Received] tells what has come to the server, whoever
// asked and on whatever way.
package harness
