package main

import (
	"fmt"
	"io"
	"strings"
)

// row is one line of the table: the samples of one metric of both sides.
type row struct {
	measure      string
	metric       metric
	theirs, ours []float64
}

// name is the key of the row in targets and reasons.
func (r row) name() string { return r.measure + ": " + r.metric.label }

// printTable prints the rows as a table that Markdown understands too.
func printTable(out io.Writer, rows []row) {
	cells := [][]string{{"measure", "unit", "other", "heliograph", "ratio", "spread", "at least", "aim", "met"}}
	for _, r := range rows {
		theirs, ours := median(r.theirs), median(r.ours)
		t := targets[r.name()]
		cells = append(cells, []string{
			r.name(), r.metric.unit, number(theirs), number(ours), ratio(theirs, ours),
			fmt.Sprintf("%s / %s", spread(r.theirs), spread(r.ours)), t.show(t.floor), t.show(t.aim), t.met(theirs, ours),
		})
	}
	printCells(out, cells, 2)
}

// printReasons explains the rows in which Heliograph loses, or misses what it has
// to reach.
func printReasons(out io.Writer, rows []row) {
	began := false
	for _, r := range rows {
		theirs, ours := median(r.theirs), median(r.ours)
		if !isLoss(theirs, ours) && targets[r.name()].met(theirs, ours) != notMet {
			continue
		}
		if !began {
			fmt.Fprint(out, "\nWhere it loses, or falls short of what it has to reach:\n\n")
			began = true
		}
		why, ok := reasons[r.name()]
		if !ok {
			why = "not explained so far."
		}
		fmt.Fprintf(out, "* *%s*: %s\n", r.name(), why)
	}
}

// printCells prints a heading and the lines below it. The columns from firstNumber
// on hold numbers.
func printCells(out io.Writer, cells [][]string, firstNumber int) {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for n, cell := range line {
			widths[n] = max(widths[n], len([]rune(cell)))
		}
	}
	for at, line := range cells {
		fmt.Fprintln(out, tableLine(line, widths, firstNumber))
		if at == 0 {
			fmt.Fprintln(out, tableRule(widths, firstNumber))
		}
	}
}

// tableLine pads the cells: words to the left, numbers to the right.
func tableLine(cells []string, widths []int, firstNumber int) string {
	var b strings.Builder
	for n, cell := range cells {
		pad := strings.Repeat(" ", widths[n]-len([]rune(cell)))
		if n < firstNumber {
			fmt.Fprintf(&b, "| %s%s ", cell, pad)
		} else {
			fmt.Fprintf(&b, "| %s%s ", pad, cell)
		}
	}
	return b.String() + "|"
}

func tableRule(widths []int, firstNumber int) string {
	var b strings.Builder
	for n, w := range widths {
		rule := strings.Repeat("-", w)
		if n >= firstNumber {
			rule = rule[1:] + ":"
		}
		fmt.Fprintf(&b, "| %s ", rule)
	}
	return b.String() + "|"
}

// number prints v with about three digits that matter.
func number(v float64) string {
	switch a := max(v, -v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// isLoss says whether Heliograph needs more. Less than half a percent rounds to
// nothing.
func isLoss(theirs, ours float64) bool {
	return ours > 0 && theirs/ours < 0.995
}

// ratio says how many times less Heliograph needs. Below one, it needs more, and
// the cell says so.
func ratio(theirs, ours float64) string {
	switch {
	case isLoss(theirs, ours):
		return fmt.Sprintf("%.2fx LOSS", theirs/ours)
	case ours <= 0 || theirs <= 0:
		return "-"
	}
	return fmt.Sprintf("%.2fx", theirs/ours)
}

// spread is half the distance between the extremes, relative to the median. One
// sample has none.
func spread(v []float64) string {
	m := median(v)
	if m == 0 || len(v) < 2 {
		return "-"
	}
	return fmt.Sprintf("±%.0f%%", 100*(maximum(v)-minimum(v))/2/m)
}
