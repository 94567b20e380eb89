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
	fmt.Fprintf(out, "heliograph compared with client-go %s and controller-runtime %s\n", version("k8s.io/client-go"), version("sigs.k8s.io/controller-runtime"))
	fmt.Fprintf(out, "machine:  %s, %d CPUs, %s of memory, kernel %s\n", processor(), runtime.NumCPU(), memory(), firstLine("/proc/sys/kernel/osrelease"))
	fmt.Fprintf(out, "go:       %s %s/%s, GOMAXPROCS %d%s\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), environment("GOGC", "GOMEMLIMIT", "GODEBUG", "GOEXPERIMENT"))
	fmt.Fprintf(out, "date:     %s, took %v\n", h.began.Format(time.RFC3339), time.Since(h.began).Round(time.Second))
	fmt.Fprintf(out, "load:     %s at the start, %s at the end (1, 5, 15 minutes; without other work it is about 1 to 2 at the end)\n", h.load, loadAverage())
	fmt.Fprintf(out, "command:  %s\n", quoted(append([]string{"go", "run", "."}, os.Args[1:]...)))
	fmt.Fprintf(out, "options:  %d pods, %d events, medians of %d runs after one discarded, where a measure has no number of its own\n", o.pods, o.events, o.runs)
	fmt.Fprintf(out, "ratio:    the other side divided by heliograph; above 1 heliograph needs less, LOSS marks where it needs more\n")
	fmt.Fprintf(out, "spread:   half the distance between the extremes of the runs, of the other side / of heliograph\n")
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

// version is that of a module that this program was built with.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "of unknown version"
}

// processor is the model of the first CPU.
func processor() string { return fieldOf("/proc/cpuinfo", "model name") }

// memory is what the machine has.
func memory() string { return fieldOf("/proc/meminfo", "MemTotal") }

// fieldOf finds the first "name: value" in a file of the kernel.
func fieldOf(file, name string) string {
	text, err := os.ReadFile(file)
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
				return strings.TrimSpace(value)
			}
		}
	}
	return "unknown " + name
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
