package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"heliograph.example/e2e/kubeapi"
)

// options are what the command line says.
type options struct {
	objects, writes, watches, rounds int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if which := os.Getenv(serveVariable); which != "" {
		err = serve(ctx, which, os.Getenv(binaryVariable), os.Stdin, os.Stdout)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("throughput", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.IntVar(&o.objects, "n", 5000, "number of `objects`")
	flags.IntVar(&o.writes, "writes", 1000, "`updates` in each measurement of writes")
	flags.IntVar(&o.watches, "watches", 50, "number of `watches` beside one")
	flags.IntVar(&o.rounds, "rounds", 3, "measured `rounds`; one more is run before them and discarded")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.objects < writers || o.writes < 1 || o.watches < 1 || o.rounds < 1:
		return o, fmt.Errorf("-n must be at least %d, -writes, -watches and -rounds at least 1", writers)
	}
	return o, nil
}

// run starts both servers, measures, and prints.
func run(ctx context.Context, args []string, out, errs io.Writer) error {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	binary, err := kubeapi.Binary(ctx, errs)
	if err != nil {
		return err
	}
	genuine, err := startServer(ctx, genuineServer, binary)
	if err != nil {
		return err
	}
	defer genuine.stop()
	ours, err := startServer(ctx, ourServer, "")
	if err != nil {
		return err
	}
	defer ours.stop()
	rows, err := compare(ctx, o, genuine.endpoint, ours.endpoint, errs)
	if err != nil {
		return err
	}
	printHeader(out, o)
	printRows(out, rows)
	return nil
}
