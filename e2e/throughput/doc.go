// Throughput measures the embedded API server beside a genuine kube-apiserver,
// and prints one table.
//
//	go run ./throughput [-n objects] [-writes n] [-watches n] [-rounds n]
//
// It must be started in the module e2e, and builds kube-apiserver first if the
// machine has none in its cache, which takes minutes.
//
// Both servers run at the same time, each in a process of its own (server.go),
// and take turns; a round that is not counted warms them up. They hold the same
// pods: the genuine server fills in the defaults of one, which all others are
// made from, and forgets managedFields, which ours does not have. The requests
// are the same, over the same client, TLS and HTTP/1.1 without compression.
// Lists and watches are not decoded but counted (internal/rawread), so that the
// client's work does not hide the server's. CPU is that of the server's process
// with all below it, so kube-apiserver and etcd count together.
//
// It is not the same work. Beyond what both do, kube-apiserver authenticates,
// authorizes, admits, sets defaults, validates and audits, and etcd writes a log
// to a file, here without waiting for the disk. What our server is for is
// to leave that out.
package main
