// Package health tells over HTTP whether a process is alive and ready, and names what is
// not.
//
//	mux := http.NewServeMux()
//	mux.Handle("/healthz", health.Handler(
//		health.Check{Name: "sites", Func: func() error { return sites.Healthy(10 * time.Minute) }},
//	))
//	mux.Handle("/readyz", health.Handler(
//		health.Check{Name: "caches", Func: health.Synced(factory)},
//		health.Check{Name: "sites", Func: sites.Ready},
//	))
//
// A process that stands by for the leadership is ready: it can take over. One that waits
// for the API server is alive: a restart would not help it.
package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"heliograph.example/informer"
)

// Check is something that is well or not.
type Check struct {
	// Name stands for it in the answer. Empty is an error of the check.
	Name string
	// Func returns nil if it is well, and otherwise what is wrong. It is called by
	// any number of requests at once and must not block. A nil Func, and one that
	// panics, are not well.
	Func func() error
}

var errPending = errors.New("not yet")

// Synced is a check that informers, registrations or factories are synced, and have not
// stopped since: what an informer holds gets old from then on. It does not wait; its
// error names each that is not, what its reader is doing, and the last error. Of a
// [informer.Waiter] of another kind it tells only whether it is synced.
func Synced(all ...informer.Waiter) func() error {
	return func() error {
		now, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		cancel(errPending)
		var errs []error
		for _, w := range all {
			err := informer.WaitFor(now, w)
			if errs = append(errs, err); !errors.Is(err, informer.ErrInvalid) {
				errs = append(errs, stopped(now, w))
			}
		}
		return errors.Join(errs...)
	}
}

// stopped says which informers have stopped after they were synced. WaitFor tells of
// those that were not.
func stopped(now context.Context, w informer.Waiter) error {
	var all []informer.Status
	switch w := w.(type) {
	case *informer.Factory:
		all = w.Status()
	case *informer.Registration:
		if w.Wait(now) != nil {
			return nil
		}
		if err := w.Stopped(now); errors.Is(err, informer.ErrStopped) {
			return fmt.Errorf("the informer of handler %s: %w", w.Name(), err)
		}
	case interface{ Status() informer.Status }:
		all = []informer.Status{w.Status()}
	}
	var errs []error
	for _, s := range all {
		if s.Synced && !s.Running {
			errs = append(errs, fmt.Errorf("%s: %w", s.Reader.Explain(), informer.ErrStopped))
		}
	}
	return errors.Join(errs...)
}

// Handler answers 200 if all checks are well, and 500 otherwise, as the probes of a
// kubelet want it. The body has a line for each check that is not well, or for each of
// them if the query asks for verbose.
func Handler(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := report(checks, r.URL.Query().Has("verbose"))
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body)) // whoever asked has gone: nobody to tell
	})
}

func report(checks []Check, verbose bool) (code int, body string) {
	code = http.StatusOK
	var lines strings.Builder
	for _, c := range checks {
		switch err := c.ask(); {
		case err != nil:
			code = http.StatusInternalServerError
			// A message of several lines would look like several checks.
			fmt.Fprintf(&lines, "[-] %s: %s\n", c.Name, strings.Join(strings.Fields(err.Error()), " "))
		case verbose:
			fmt.Fprintf(&lines, "[+] %s\n", c.Name)
		}
	}
	if code == http.StatusOK {
		lines.WriteString("ok\n")
	}
	return code, lines.String()
}

// ask calls the check.
func (c Check) ask() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the check panicked: %v", v)
		}
	}()
	switch {
	case c.Name == "":
		return errors.New("a check without a name")
	case c.Func == nil:
		return errors.New("a check without a function")
	}
	return c.Func()
}
