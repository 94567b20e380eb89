package harness

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// Compact makes etcd forget all versions before the present one, as kube-apiserver
// has it done every few minutes, and returns that. What is alive stays.
func (c *Cluster) Compact(ctx context.Context) (version int64, err error) {
	client := v3client.New(c.etcd.Server)
	defer client.Close() // it has nothing to say but that its context has ended
	version = c.etcd.Server.KV().Rev()
	if _, err := client.Compact(ctx, version); err != nil {
		return 0, fmt.Errorf("harness: compaction at %d: %w", version, err)
	}
	return version, nil
}
