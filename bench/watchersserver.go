package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"heliograph.example/apiserver"
)

// serveWatched is the job of the server's process: it prints its URL and the
// address for carriers, and then looks at itself for each line of its input,
// until that ends.
func serveWatched(ctx context.Context) (err error) {
	l, err := listenCarriers()
	if err != nil {
		return err
	}
	defer l.wait()
	server, err := apiserver.Start(ctx, apiserver.Options{Listener: l})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer server.Stop()
	fmt.Println(server.Config().Host, l.carriers.Addr())
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		s, err := lookAtSelf()
		if err != nil {
			return err
		}
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return lines.Err()
}

// lookAtSelf collects garbage and tells what is left. The CPU time is that after
// the look, and "cpu before" that before it.
func lookAtSelf() (sample, error) {
	before, err := readUsage()
	if err != nil {
		return nil, err
	}
	resident, err := peakResident()
	if err != nil {
		return nil, err
	}
	heap := liveHeap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	after, err := readUsage()
	return sample{
		"goroutines": float64(runtime.NumGoroutine()),
		"heap":       float64(heap),
		"stacks":     float64(m.StackInuse),
		"resident":   float64(resident),
		"cpu before": before.cpu.Seconds(),
		"cpu":        after.cpu.Seconds(),
	}, err
}

// watched is the server's process as its parent sees it.
type watched struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer
	// url is that of the server, and carrier where it takes carriers.
	url, carrier string
}

func startWatched(j job) (*watched, error) {
	cmd, errs, err := command(j)
	if err != nil {
		return nil, err
	}
	w := &watched{cmd: cmd, errs: errs}
	if w.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := w.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server process: reading its addresses: %w", err), w.stop())
	}
	w.url, w.carrier, _ = strings.Cut(strings.TrimSpace(line), " ")
	return w, nil
}

// look makes the server look at itself.
func (w *watched) look() (sample, error) {
	if _, err := fmt.Fprintln(w.in); err != nil {
		return nil, fmt.Errorf("server process: asking for a look: %w", err)
	}
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("server process: reading a look: %w", err)
	}
	var s sample
	if err := json.Unmarshal(line, &s); err != nil {
		return nil, fmt.Errorf("server process: reading a look %q: %w", line, err)
	}
	return s, nil
}

// stop ends the process, whose clients must have gone.
func (w *watched) stop() error {
	if err := errors.Join(w.in.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("server process: %w: %s", err, strings.TrimSpace(w.errs.String()))
	}
	return nil
}
