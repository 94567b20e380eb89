package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"time"
)

// job is the work of one child process.
type job struct {
	// Kind is server, watched or one of measures.
	Kind string
	// Side is one of the makers below; a server has none.
	Side string
	// Data names the data set, and Pods is how many objects it has.
	Data string
	Pods int
	// Handlers and Events are for a pipeline, and so is Batch: how many events
	// a source of Heliograph's own hands over at a time. 0 means that they
	// come through a ListerWatcher. Hot is the number of objects that all
	// events are about; 0 means all.
	Handlers, Events, Batch, Hot int
	// URL is where the server is, and Mode the part of its paths that decides
	// how it answers. A server has several, with blanks between.
	URL, Mode string
	// Cut is what is left out of objects.
	Cut string
	// Case is which of a kind's cases is measured.
	Case string
	// Profile is the file for a CPU profile; empty means none.
	Profile string
	// Heap is the folder for heap profiles of a load; empty means none.
	Heap string
}

const (
	clientGo   = "client-go"
	heliograph = "heliograph"
)

// measures take the samples of jobs.
var measures = map[string]func(context.Context, job) (sample, error){
	"sync":             measureSync,
	"pipeline":         measurePipeline,
	"watch":            measureWatch,
	"start":            measureStart,
	"load":             measureLoad,
	"slow":             measureSlow,
	"idle":             measureIdleInformers,
	"relist":           measureRelist,
	"relist over HTTP": measureRelistWatch,
	"late":             measureLate,
	"store":            measureStore,
	"longest get":      measureLongestGet,
	"writer":           measureWriter,
	"queue":            measureQueue,
	"queue kind":       measureQueueKind,
}

// sample holds what a child has measured, by the keys of metrics.
type sample map[string]float64

// jobVariable holds the job of a child process, as JSON.
const jobVariable = "HELIOGRAPH_BENCH_JOB"

// patience is how long a child may take for one sample.
const patience = 10 * time.Minute

func isChild() bool { return os.Getenv(jobVariable) != "" }

// childMain does the job of a child process and returns its exit code.
func childMain() int {
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func child() (err error) {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(jobVariable)), &j); err != nil {
		return fmt.Errorf("%s: %w", jobVariable, err)
	}
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch j.Kind {
	case "server":
		return serve(j)
	case "watched":
		return serveWatched(ctx)
	}
	measure, ok := measures[j.Kind]
	if !ok {
		return fmt.Errorf("unknown kind of job %q", j.Kind)
	}
	s, err := measure(ctx, j)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// command makes a child process for j: this program again.
func command(j job) (*exec.Cmd, *bytes.Buffer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	errs := new(bytes.Buffer)
	cmd.Stderr = errs
	return cmd, errs, nil
}

// runChild takes one sample.
func runChild(j job) (sample, error) {
	cmd, errs, err := command(j)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s process: %w: %s", j.Kind, err, strings.TrimSpace(errs.String()))
	}
	var s sample
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, fmt.Errorf("%s process: reading its sample %q: %w", j.Kind, out, err)
	}
	return s, nil
}

// startServer starts the API server in a process of its own and returns its URL
// and a function that ends it. It ends by itself when this process does: then
// its standard input is closed.
func startServer(serve serving) (url string, stop func() error, err error) {
	cmd, errs, err := command(job{Kind: "server", Data: serve.data, Pods: serve.size, Mode: serve.modes})
	if err != nil {
		return "", nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			return fmt.Errorf("server process: %w: %s", err, strings.TrimSpace(errs.String()))
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("server process: reading its address: %w", err), stop())
	}
	return strings.TrimSpace(line), stop, nil
}
