package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/internal/rawread"
)

// repeats is how often a list is read in each measurement.
const repeats = 3

// task is one thing that both servers do in each round.
type task struct {
	name string
	// unit is what is counted, and count how many of them do returns with.
	unit  string
	count int
	do    func(ctx context.Context, s *side) error
}

func tasks(o options) []task {
	lists := func(name, unit, media string, read func(ctx context.Context, r rawread.Reader) (rawread.Count, error)) task {
		return task{name, unit, repeats * o.objects, func(ctx context.Context, s *side) error {
			for range repeats {
				c, err := read(ctx, s.reader(media))
				if err == nil && c.Objects != o.objects {
					err = fmt.Errorf("%d objects came, want %d", c.Objects, o.objects)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}}
	}
	whole := func(ctx context.Context, r rawread.Reader) (rawread.Count, error) { return r.List(ctx, url.Values{}) }
	pages := func(ctx context.Context, r rawread.Reader) (rawread.Count, error) { return r.Pages(ctx, 500) }
	initial := func(ctx context.Context, r rawread.Reader) (rawread.Count, error) { return r.Initial(ctx) }
	watches := func(n int) func(context.Context, *side) error {
		return func(ctx context.Context, s *side) error { return s.watchWrites(ctx, n, o.writes) }
	}
	return []task{
		lists("list whole, protobuf", "objects", runtime.ContentTypeProtobuf, whole),
		lists("list whole, JSON", "objects", runtime.ContentTypeJSON, whole),
		lists("list in pages of 500, protobuf", "objects", runtime.ContentTypeProtobuf, pages),
		lists("list in pages of 500, JSON", "objects", runtime.ContentTypeJSON, pages),
		lists("streaming list, protobuf", "events", runtime.ContentTypeProtobuf, initial),
		lists("streaming list, JSON", "events", runtime.ContentTypeJSON, initial),
		{"updates, nobody watches", "writes", o.writes, func(ctx context.Context, s *side) error { return s.write(ctx, o.writes) }},
		{"updates told to 1 watch", "events", o.writes, watches(1)},
		{fmt.Sprintf("updates told to %d watches", o.watches), "events", o.writes * o.watches, watches(o.watches)},
	}
}

// sample is what one side took for a task.
type sample struct {
	rate float64 // per second
	cpu  float64 // microseconds of the server for each
}

// row is one line of the table: the samples of a thing for both sides.
type row struct {
	name, unit   string
	more         bool // is better
	equal        bool // it should be
	theirs, ours []float64
}

// compare fills both servers and runs the rounds. Turns go back and forth, so
// that a machine that gets slower or faster meanwhile favours nobody.
func compare(ctx context.Context, o options, genuine, embedded endpoint, progress io.Writer) ([]row, error) {
	theirs, err := newSide(ctx, genuine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", genuineServer, err)
	}
	defer theirs.http.CloseIdleConnections()
	ours, err := newSide(ctx, embedded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ourServer, err)
	}
	defer ours.http.CloseIdleConnections()
	sides := []*side{theirs, ours}

	fmt.Fprintf(progress, "throughput: filling both servers with %d pods\n", o.objects)
	spec, err := theirs.defaulted(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range sides {
		if err := s.fill(ctx, o.objects, spec); err != nil {
			return nil, fmt.Errorf("filling %s: %w", sideName(i), err)
		}
	}
	rows, err := sizes(ctx, sides)
	if err != nil {
		return nil, err
	}
	measured, err := rounds(ctx, o, sides, progress)
	if err != nil {
		return nil, err
	}
	rows = append(rows, measured...)
	memory := row{name: "resident memory at the end", unit: "MB"}
	for i, s := range sides {
		u, err := readUsage(s.endpoint.PID)
		if err != nil {
			return nil, err
		}
		memory.add(i, u.resident/1e6)
	}
	return append(rows, memory), nil
}

func sideName(i int) string { return []string{genuineServer, ourServer}[i] }

func (r *row) add(side int, v float64) {
	if side == 0 {
		r.theirs = append(r.theirs, v)
	} else {
		r.ours = append(r.ours, v)
	}
}

// sizes shows whether the objects are the same.
func sizes(ctx context.Context, sides []*side) ([]row, error) {
	var rows []row
	for _, f := range []struct{ name, media string }{{"protobuf", runtime.ContentTypeProtobuf}, {"JSON", runtime.ContentTypeJSON}} {
		r := row{name: "size of an object in a list, " + f.name, unit: "B", equal: true}
		for i, s := range sides {
			c, err := s.reader(f.media).List(ctx, url.Values{})
			if err == nil && c.Objects == 0 {
				err = errors.New("no objects")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sideName(i), err)
			}
			r.add(i, float64(c.Bytes)/float64(c.Objects))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// rounds runs every task on both sides, once without counting.
func rounds(ctx context.Context, o options, sides []*side, progress io.Writer) ([]row, error) {
	all := tasks(o)
	rows := make([]row, 0, 2*len(all))
	for _, t := range all {
		rows = append(rows,
			row{name: t.name, unit: t.unit + "/s", more: true},
			row{name: t.name + ": CPU of the server", unit: "µs each"})
	}
	for round := range o.rounds + 1 {
		fmt.Fprintf(progress, "throughput: round %d of %d\n", round, o.rounds)
		for n, t := range all {
			for turn := range sides {
				at := (turn + round) % len(sides)
				got, err := measure(ctx, t, sides[at])
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", sideName(at), t.name, err)
				}
				if round > 0 {
					rows[2*n].add(at, got.rate)
					rows[2*n+1].add(at, got.cpu)
				}
			}
		}
	}
	return rows, nil
}

// measure runs a task once.
func measure(ctx context.Context, t task, s *side) (sample, error) {
	before, err := readUsage(s.endpoint.PID)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	err = t.do(ctx, s)
	took := time.Since(began)
	after, usageErr := readUsage(s.endpoint.PID)
	if err := errors.Join(err, usageErr); err != nil {
		return sample{}, err
	}
	n := float64(t.count)
	return sample{rate: n / took.Seconds(), cpu: (after.cpu - before.cpu).Seconds() * 1e6 / n}, nil
}
