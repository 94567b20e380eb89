package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

// options are what the command line says.
type options struct {
	pods    int
	events  int
	objects int
	runs    int
	only    string
	json    bool
	quick   bool
	profile string
	// document is the file that a whole run is written to; empty means none.
	document string
}

// defaultRuns is how many runs are measured unless the command line, or a contest,
// says something else.
const defaultRuns = 3

func main() {
	if isChild() {
		os.Exit(childMain())
	}
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = bench(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parse reads the command line and checks it. -quick replaces the default
// sizes, not those that were asked for.
func parse(args []string, errs io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.IntVar(&o.pods, "n", 50000, "number of `pods` in the collection")
	flags.IntVar(&o.events, "events", 800*stage, "number of measured `events`; rounded up to a multiple of 512")
	flags.IntVar(&o.objects, "objects", 100000, "number of `objects` that the server half stores")
	flags.IntVar(&o.runs, "runs", defaultRuns, "measured `runs` of each side; one more is run before them and discarded")
	flags.StringVar(&o.only, "only", "", "measure only what this `regexp` matches")
	flags.BoolVar(&o.json, "json", false, "measure the initial sync in JSON too")
	flags.BoolVar(&o.quick, "quick", false, "a tiny run that shows that everything works; its figures mean nothing")
	flags.StringVar(&o.profile, "profile", "", "write CPU profiles of the last runs to this `folder`; they slow both sides down")
	flags.StringVar(&o.document, "document", "", "write the tables of a whole run to this `file`; a partial one leaves it alone")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		given := make(map[string]bool)
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, small := range map[string]int{"n": 300, "events": stage, "objects": 300, "runs": 1} {
			if !given[name] {
				if err := flags.Set(name, fmt.Sprint(small)); err != nil {
					return o, err
				}
			}
		}
	}
	return o, o.check(flags.Args())
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.pods < 1 || o.events < 1 || o.objects < 1 || o.runs < 1:
		return fmt.Errorf("-n, -events, -objects and -runs must be at least 1")
	}
	if _, err := regexp.Compile(o.only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return fmt.Errorf("-profile: %w", err)
		}
	}
	o.events = (o.events + stage - 1) / stage * stage
	return nil
}

// bench runs everything that o asks for and prints the tables to out; progress
// goes to errs.
func bench(o options, out, errs io.Writer) error {
	contests, err := choose(o)
	if err != nil {
		return err
	}
	header := newHeader(o)
	rows, err := runContests(contests, o, errs)
	if err != nil {
		return err
	}
	tables, err := runSections(o, errs)
	if err != nil {
		return err
	}
	header.print(out)
	printResults(out, rows, tables)
	if o.document == "" {
		return nil
	}
	if err := o.isWhole(); err != nil {
		fmt.Fprintf(errs, "%s stays as it is: %v\n", o.document, err)
		return nil
	}
	return writeDocument(o.document, header, rows, tables)
}

// runContests runs contests, each with the server that it needs. A server is
// kept while contests want the same.
func runContests(contests []contest, o options, progress io.Writer) (rows []row, err error) {
	var serve serving
	url, stop := "", func() error { return nil }
	defer func() { err = errors.Join(err, stop()) }()
	for _, c := range contests {
		if c.serve != serve {
			if err := stop(); err != nil {
				return nil, err
			}
			serve, url, stop = c.serve, "", func() error { return nil }
			if serve != (serving{}) {
				if url, stop, err = startServer(serve); err != nil {
					return nil, err
				}
			}
		}
		more, err := c.run(o, url, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}
