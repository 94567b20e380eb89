package workqueue

import (
	"math/bits"
	"time"
)

// HistogramBuckets is the number of buckets of a [Histogram].
const HistogramBuckets = 32

// Histogram counts durations in buckets of fixed bounds, each twice the one before.
type Histogram struct {
	// Count is the number of durations, and Sum their sum.
	Count uint64
	Sum   time.Duration
	// Buckets are the numbers of durations in each bucket: those that are
	// less than [BucketBound] of its index, and in no bucket before.
	Buckets [HistogramBuckets]uint64
}

// firstBound is the logarithm of the bound of the first bucket: 1.024 µs.
const firstBound = 10

// BucketBound is the bound of a bucket, which is not in it: 2^(10+i) nanoseconds,
// so from about a microsecond to about 18 minutes. The last bucket has no bound;
// for it, and for an index out of range, the bound is 0.
func BucketBound(i int) time.Duration {
	if i < 0 || i >= HistogramBuckets-1 {
		return 0
	}
	return 1 << (firstBound + i)
}

func (h *Histogram) add(d time.Duration) {
	h.Count++
	h.Sum += d
	i := bits.Len64(uint64(max(d, 0)) >> firstBound)
	h.Buckets[min(i, HistogramBuckets-1)]++
}
