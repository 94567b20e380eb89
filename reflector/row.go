package reflector

import "heliograph.example/deltafifo"

// chunk is how many deltas of a row are next to each other.
const chunk = 256

// row collects deltas whose number nobody knows before. A slice that grows would be
// copied again and again, and leave behind several times what it holds.
type row[T any] struct {
	chunks [][]deltafifo.Delta[T]
	n      int
}

func (r *row[T]) len() int { return r.n }

// at returns the i-th delta, to be read or changed.
func (r *row[T]) at(i int) *deltafifo.Delta[T] { return &r.chunks[i/chunk][i%chunk] }

func (r *row[T]) append(d deltafifo.Delta[T]) {
	if r.n%chunk == 0 {
		size := chunk
		if r.n == 0 {
			size = 1 // a row may stay short
		}
		r.chunks = append(r.chunks, make([]deltafifo.Delta[T], 0, size))
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, d)
	r.n++
}

// drain appends the deltas to a slice, without those that have no type, and
// returns it. The row is empty then.
func (r *row[T]) drain(to []deltafifo.Delta[T]) []deltafifo.Delta[T] {
	holes := 0
	for i := range r.n {
		if r.at(i).Type == 0 {
			holes++
		}
	}
	if len(to) == 0 && holes == 0 && len(r.chunks) == 1 {
		to = r.chunks[0]
	} else if r.n > holes {
		all := make([]deltafifo.Delta[T], len(to), len(to)+r.n-holes)
		copy(all, to)
		to = all
		for i, c := range r.chunks {
			for n := range c {
				if c[n].Type != 0 {
					to = append(to, c[n])
				}
			}
			r.chunks[i] = nil
		}
	}
	*r = row[T]{}
	return to
}
