package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// churners is the number of goroutines that write at the same time. Each owns
// its share of the names, so that none meets a conflict.
const churners = 8

var colors = []string{"red", "green", "blue"}

// churn is a mix of creates, updates, deletes, and deletes with a create under
// the same name at once. The seed decides what each goroutine writes.
type churn struct {
	seed   uint64
	writes int // in all
	client rest.Interface
	// namespace is where it writes, and names are those of the objects that are
	// there, by plural of their kind. Only these kinds are written.
	namespace string
	names     map[string][]string
	// wrote, if not nil, is told after each write how many there were. Several
	// goroutines call it. An error ends the one that got it.
	wrote func(n int) error
	// patient retries writes that fail while the server is away. Without it, an
	// error ends the goroutine.
	patient bool

	done atomic.Int64
}

// run writes and returns when all has been written.
func (c *churn) run(ctx context.Context) error {
	return parallel(churners, churners, func(n int) error {
		h := &hand{churn: c, number: n, random: rand.New(rand.NewPCG(c.seed, uint64(n))), names: make(map[string][]string)}
		for plural, names := range c.names {
			for i := n; i < len(names); i += churners {
				if names[i] != sentinel {
					h.names[plural] = append(h.names[plural], names[i])
				}
			}
		}
		for range c.writes / churners {
			if err := h.write(ctx); err != nil {
				return fmt.Errorf("churn with seed %d: %w", c.seed, err)
			}
			if n := c.done.Add(1); c.wrote != nil {
				if err := c.wrote(int(n)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// hand is one of the goroutines.
type hand struct {
	*churn
	number int
	random *rand.Rand
	names  map[string][]string
	made   int    // objects with a name that is new
	writer writer // of the kind of the last write
	reborn string // if not empty, deleted by the last write and to be created by the next
}

// hot is the number of names that get a third of the updates: they change faster
// than a slow handler looks.
const hot = 10

func (h *hand) write(ctx context.Context) error {
	color := colors[h.random.IntN(len(colors))]
	if h.reborn != "" {
		name := h.reborn
		h.reborn = ""
		return h.create(ctx, name, color)
	}
	h.writer = writer{h.client, h.namespace, configMaps}
	if _, ok := h.churn.names[pods.plural]; ok && h.random.IntN(5) == 0 {
		h.writer.kind = pods
	}
	names := h.names[h.writer.kind.plural]
	if len(names) == 0 {
		return h.createNew(ctx, color)
	}
	n := h.random.IntN(len(names))
	switch dice := h.random.IntN(10); {
	case dice < 5:
		if h.random.IntN(3) == 0 {
			n %= hot
		}
		return h.try(ctx, func() error {
			_, err := h.writer.paint(ctx, names[n], color, int(h.random.Int32()))
			return err
		})
	case dice < 7:
		return h.createNew(ctx, color)
	case dice == 9:
		h.reborn = names[n]
	}
	name := names[n]
	names[n] = names[len(names)-1]
	h.names[h.writer.kind.plural] = names[:len(names)-1]
	return h.try(ctx, func() error { return h.writer.delete(ctx, name) })
}

func (h *hand) createNew(ctx context.Context, color string) error {
	h.made++
	return h.create(ctx, fmt.Sprintf("%s-%d-%d-%d", h.writer.kind.plural, h.seed, h.number, h.made), color)
}

func (h *hand) create(ctx context.Context, name, color string) error {
	plural := h.writer.kind.plural
	h.names[plural] = append(h.names[plural], name)
	return h.try(ctx, func() error { return h.writer.create(ctx, name, color) })
}

// try makes one write. A patient hand tries again until it works; that the write
// was done already is then no error, because the answer to the first try may be
// what got lost.
func (h *hand) try(ctx context.Context, write func() error) error {
	for again := false; ; again = true {
		err := write()
		if again && (apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)) {
			return nil
		}
		if err == nil || !h.patient {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// eventually asks until there is no error any more, and fails with the last one
// if that takes unreasonably long.
func eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	if err := await(t.Context(), ask); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// await asks until there is no error any more, and returns the last one if that
// takes unreasonably long, or if ctx ends.
func await(ctx context.Context, ask func() error) error {
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("not after %v at most: %w", limit, err)
		}
	}
}
