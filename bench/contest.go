package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// metric is one thing that is measured of a contest. Less is better in all of
// them.
type metric struct {
	// key is the metric's name in a sample.
	key string
	// label and unit are its name and unit in the table.
	label, unit string
}

// contest is the same work for client-go and for one or more ways to do it with
// Heliograph.
type contest struct {
	name    string
	metrics []metric
	// serve is what the API server has; the zero value if there is none.
	serve  serving
	theirs job
	ours   []entrant
	// runs takes the place of the default number of runs: less where they take
	// long and their figures differ little, more where they differ much. 0 means
	// the default.
	runs int
}

// serving is what the API server has: so many objects of a data set, in some
// modes.
type serving struct {
	data  string
	size  int
	modes string
}

// by is the job of one side.
func by(side string, j job) job {
	j.Side = side
	return j
}

// entrant is one way in which Heliograph does a contest's work.
type entrant struct {
	// label is added to the contest's name if the way is a special one.
	label string
	job   job
}

// allContests are printed in this order. Those that need the same server follow
// each other.
func allContests(o options) []contest {
	return slices.Concat(
		pipelineContests(o), []contest{watchContest(o)}, slowContests(o), syncContests(o), growthContests(o), idleContests(o),
		relistContests(o), lateContests(o), storeContests(o), queueContests(o), queueKindContests(o))
}

// choose returns the contests that o asks for. It is an error if o asks for no
// section either.
func choose(o options) ([]contest, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	var chosen []contest
	var names []string
	for _, c := range allContests(o) {
		names = append(names, "  "+c.name)
		if only.MatchString(c.name) {
			chosen = append(chosen, c)
		}
	}
	sectionChosen := false
	for _, s := range sections {
		names = append(names, "  "+s.name)
		sectionChosen = sectionChosen || only.MatchString(s.name)
	}
	if len(chosen) == 0 && !sectionChosen {
		return nil, fmt.Errorf("-only %q matches none of\n%s", o.only, strings.Join(names, "\n"))
	}
	return chosen, nil
}

// run takes the samples: one of each side that is discarded, except in a quick
// run, then o.runs of each, taking turns. Turns go back and forth, so that a machine that gets slower or
// faster meanwhile favours nobody.
func (c *contest) run(o options, url string, progress io.Writer) ([]row, error) {
	jobs := []job{c.theirs}
	for _, e := range c.ours {
		jobs = append(jobs, e.job)
	}
	samples := make([][]sample, len(jobs))
	runs := o.runs
	if c.runs > 0 && (runs == defaultRuns || runs > c.runs) {
		runs = c.runs
	}
	first := 0
	if o.quick {
		first = 1
	}
	for round := first; round <= runs; round++ {
		fmt.Fprintf(progress, "%s: run %d of %d\n", c.name, round, runs)
		for turn := range jobs {
			at := turn
			if round%2 == 1 {
				at = len(jobs) - 1 - turn
			}
			j := jobs[at]
			j.URL = url
			if o.profile != "" && round == runs {
				j.Profile = filepath.Join(o.profile, c.file(j))
			}
			s, err := runChild(j)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", j.Side, err)
			}
			if round > 0 {
				samples[at] = append(samples[at], s)
			}
		}
	}
	return c.rows(samples)
}

// rows compares the samples of the first job, client-go's, with each other's.
func (c *contest) rows(samples [][]sample) ([]row, error) {
	var out []row
	for n, e := range c.ours {
		for _, m := range c.metrics {
			theirs, err := collect(samples[0], m.key)
			if err != nil {
				return nil, err
			}
			ours, err := collect(samples[n+1], m.key)
			if err != nil {
				return nil, err
			}
			out = append(out, row{measure: c.measure(e), metric: m, theirs: theirs, ours: ours})
		}
	}
	return out, nil
}

// measure names what is measured with an entrant.
func (c *contest) measure(e entrant) string {
	if e.label == "" {
		return c.name
	}
	return c.name + ", " + e.label
}

// file names the profile of a job.
func (c *contest) file(j job) string {
	name := strings.Map(func(r rune) rune {
		if r == ' ' || r == ',' || r == '/' || r == ':' {
			return '-'
		}
		return r
	}, c.name+" "+j.Side)
	if j.Batch > 0 {
		name += fmt.Sprintf("-batch%d", j.Batch)
	}
	return name + ".pprof"
}

// collect picks one metric out of samples.
func collect(samples []sample, key string) ([]float64, error) {
	out := make([]float64, 0, len(samples))
	for _, s := range samples {
		v, ok := s[key]
		if !ok {
			return nil, fmt.Errorf("a sample has no %q", key)
		}
		out = append(out, v)
	}
	return out, nil
}
