package main

import (
	"fmt"
	"io"
	"regexp"
)

// section is a part of the output that measures the server half alone: there is
// no client-go beside it to compare with.
type section struct {
	name string
	// run takes the samples, in processes of their own; progress goes to progress.
	run func(o options, progress io.Writer) ([]figure, error)
}

// figure is one line of a section.
type figure struct {
	label, unit string
	value       float64
}

// sections are printed in this order, after the contests.
var sections = []section{
	{name: "server, start", run: startSection},
	{name: "server, load", run: loadSection},
	{name: "server, watchers", run: watchersSection},
}

// runSections runs every section that o asks for.
func runSections(o options, progress io.Writer) ([]table, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	var tables []table
	for _, s := range sections {
		if !only.MatchString(s.name) {
			continue
		}
		figures, err := s.run(o, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		tables = append(tables, table{s.name, figures})
	}
	return tables, nil
}

// table is what a section has measured.
type table struct {
	name    string
	figures []figure
}

// print prints the table such that Markdown understands it too.
func (t table) print(out io.Writer) {
	cells := [][]string{{t.name, "unit", "figure"}}
	for _, f := range t.figures {
		cells = append(cells, []string{f.label, f.unit, number(f.value)})
	}
	fmt.Fprintln(out)
	printCells(out, cells, 2)
}

// sampleFigures picks figures out of a sample, in the order of metrics.
func sampleFigures(s sample, metrics []metric) ([]figure, error) {
	var out []figure
	for _, m := range metrics {
		v, ok := s[m.key]
		if !ok {
			return nil, fmt.Errorf("a sample has no %q", m.key)
		}
		out = append(out, figure{m.label, m.unit, v})
	}
	return out, nil
}
