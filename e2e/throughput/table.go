package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// printHeader tells under which circumstances the table came about.
func printHeader(out io.Writer, o options) {
	fmt.Fprintf(out, "\nheliograph's API server compared with kube-apiserver %s and etcd\n", kubernetesVersion())
	fmt.Fprintf(out, "go:       %s %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(out, "date:     %s, load %s at the end\n", time.Now().Format(time.RFC3339), load())
	fmt.Fprintf(out, "command:  go run ./throughput %s\n", strings.Join(os.Args[1:], " "))
	fmt.Fprintf(out, "options:  %d pods, %d updates by %d writers, medians of %d rounds after one discarded\n", o.objects, o.writes, writers, o.rounds)
	fmt.Fprintf(out, "ratio:    how many times better heliograph is; LOSS marks where it is worse\n\n")
}

func kubernetesVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "k8s.io/client-go" {
				// client-go v0.N.P belongs to Kubernetes v1.N.P.
				return strings.Replace(d.Version, "v0.", "v1.", 1)
			}
		}
	}
	return "of unknown version"
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

// printRows prints a table that Markdown understands too.
func printRows(out io.Writer, rows []row) {
	lines := [][]string{{"measure", "unit", "better", genuineServer, ourServer, "ratio", "spread"}}
	for _, r := range rows {
		theirs, ours := median(r.theirs), median(r.ours)
		better := "less"
		if r.more {
			better = "more"
		}
		times := ratio(r.more, theirs, ours)
		if r.equal {
			better, times = "equal", "-"
		}
		lines = append(lines, []string{r.name, r.unit, better, number(theirs), number(ours), times, spread(r.theirs) + " / " + spread(r.ours)})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for n, cell := range line {
			widths[n] = max(widths[n], len([]rune(cell)))
		}
	}
	const firstNumber = 3
	for at, line := range lines {
		for n, cell := range line {
			pad := strings.Repeat(" ", widths[n]-len([]rune(cell)))
			if n < firstNumber {
				cell, pad = cell+pad, ""
			}
			fmt.Fprintf(out, "| %s%s ", pad, cell)
		}
		fmt.Fprintln(out, "|")
		if at == 0 {
			for n, w := range widths {
				rule := strings.Repeat("-", w)
				if n >= firstNumber {
					rule = rule[1:] + ":"
				}
				fmt.Fprintf(out, "| %s ", rule)
			}
			fmt.Fprintln(out, "|")
		}
	}
}

// ratio says how many times better ours is; below one it is worse.
func ratio(more bool, theirs, ours float64) string {
	if theirs <= 0 || ours <= 0 {
		return "-"
	}
	times := theirs / ours
	if more {
		times = ours / theirs
	}
	if times < 0.995 { // less than that rounds to 1.00
		return fmt.Sprintf("%.2fx LOSS", times)
	}
	return fmt.Sprintf("%.2fx", times)
}

// median returns the middle of v, the lower one of two; 0 if there is none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[(len(v)-1)/2]
}

// spread is half the distance between the extremes, relative to the median. One
// sample has none.
func spread(v []float64) string {
	m := median(v)
	if m == 0 || len(v) < 2 {
		return "-"
	}
	return fmt.Sprintf("±%.0f%%", 100*(slices.Max(v)-slices.Min(v))/2/m)
}

// number prints v with about three digits that matter.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
