package workqueue

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

// ParallelizeUntil is client-go's: it does pieces pieces of work in workers
// goroutines and returns when all are done, or when ctx, which may be nil, has ended
// and those that were begun are done.
func ParallelizeUntil(ctx context.Context, workers, pieces int, doWorkPiece DoWorkPieceFunc, opts ...Options) {
	workqueue.ParallelizeUntil(ctx, workers, pieces, doWorkPiece, opts...)
}

// WithChunkSize lets each worker of [ParallelizeUntil] take c pieces at a time. A
// number below 1 means 1.
func WithChunkSize(c int) Options { return workqueue.WithChunkSize(c) }
