package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// header tells under which circumstances a table came about.
type header struct {
	options options
	began   time.Time
	load    string
}

func newHeader(o options) header {
	return header{options: o, began: time.Now(), load: loadAverage()}
}

// print prints the header; it is called when all has been measured.
func (h header) print(out io.Writer) {
	o := h.options
	fmt.Fprintf(out, "heliograph compared with client-go %s\n", clientGoVersion())
	fmt.Fprintf(out, "go:       %s %s/%s, %d CPUs, GOMAXPROCS %d%s\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0), environment("GOGC", "GOMEMLIMIT", "GODEBUG", "GOEXPERIMENT"))
	fmt.Fprintf(out, "date:     %s, took %v\n", h.began.Format(time.RFC3339), time.Since(h.began).Round(time.Second))
	fmt.Fprintf(out, "load:     %s at the start, %s at the end (1, 5, 15 minutes; without other work it is about 1 to 2 at the end)\n", h.load, loadAverage())
	fmt.Fprintf(out, "command:  %s\n", quoted(append([]string{"go", "run", "."}, os.Args[1:]...)))
	fmt.Fprintf(out, "options:  %d pods, %d events, medians of %d runs after one discarded\n", o.pods, o.events, o.runs)
	fmt.Fprintf(out, "ratio:    client-go divided by heliograph; above 1 heliograph needs less, LOSS marks where it needs more\n")
	fmt.Fprintf(out, "spread:   half the distance between the extremes of the runs, of client-go / of heliograph\n")
	if o.quick {
		fmt.Fprintf(out, "\nA QUICK RUN SHOWS THAT EVERYTHING WORKS. ITS FIGURES MEAN NOTHING.\n")
	}
	fmt.Fprintln(out)
}

// quoted joins arguments in such a way that they can be given again.
func quoted(args []string) string {
	out := make([]string, len(args))
	for n, a := range args {
		out[n] = a
		if a == "" || strings.ContainsAny(a, " \t'\"|()*?$\\") {
			out[n] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// environment lists those variables that are set.
func environment(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			fmt.Fprintf(&b, ", %s=%s", name, v)
		}
	}
	return b.String()
}

// loadAverage tells what else keeps the machine busy.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

// clientGoVersion is the version that this program was built with.
func clientGoVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "k8s.io/client-go" {
				return d.Version
			}
		}
	}
	return "of unknown version"
}
