package watch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// asked is one request of a watch.
type asked struct {
	at   time.Duration
	opts metav1.ListOptions
}

// server answers the watches of a test, each by the next of its answers, and the rest
// by the last.
type server struct {
	began   time.Time
	answers []func(opts metav1.ListOptions) (watch.Interface, error)
	asked   []asked
}

func newServer(answers ...func(metav1.ListOptions) (watch.Interface, error)) *server {
	return &server{began: time.Now(), answers: answers}
}

func (s *server) WatchWithContext(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	answer := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, asked{time.Since(s.began), opts})
	return answer(opts)
}

// sends answers with events, and ends the watch after them.
func sends(events ...watch.Event) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) {
		ch := make(chan watch.Event, len(events))
		for _, e := range events {
			ch <- e
		}
		close(ch)
		return watch.NewProxyWatcher(ch), nil
	}
}

// silent answers with a watch in which nothing comes.
func silent(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

func refuses(err error) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) { return nil, err }
}

func event(t watch.EventType, name, version string) watch.Event {
	return watch.Event{Type: t, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}}
}

// gone is what servers sent before they had a reason of its own.
func gone() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone}}
}

func failure(status metav1.Status) watch.Event {
	return watch.Event{Type: watch.Error, Object: &status}
}

// told is what a watcher gives until it ends.
func told(w watch.Interface) (names []string, last watch.Event) {
	for e := range w.ResultChan() {
		last = e
		if pod, ok := e.Object.(*corev1.Pod); ok {
			names = append(names, string(e.Type)+" "+pod.Name)
		}
	}
	return names, last
}

func TestARetryWatcherGoesOnWhereAWatchHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := newServer(
			sends(event(watch.Added, "a", "5"), event(watch.Bookmark, "", "9")),
			sends(event(watch.Modified, "a", "11")),
			refuses(errors.New("connection refused")),
			sends(event(watch.Deleted, "a", "12")),
			silent)
		w, err := NewRetryWatcherWithContext(ctx, "3", s)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := told(w)
		if got, want := strings.Join(names, ", "), "ADDED a, MODIFIED a, DELETED a"; got != want {
			t.Errorf("it gave %s, want %s", got, want)
		}
		var versions []string
		for _, a := range s.asked[:5] {
			versions = append(versions, a.opts.ResourceVersion)
			if !a.opts.AllowWatchBookmarks {
				t.Error("a watch did not ask for bookmarks")
			}
		}
		if got, want := strings.Join(versions, " "), "3 9 11 11 12"; got != want {
			t.Errorf("it watched from versions %s, want %s", got, want)
		}
		<-w.Done()
	})
}

func TestARetryWatcherEndsWithAnErrorWhereItCannotGoOn(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for name, answer := range map[string]func(metav1.ListOptions) (watch.Interface, error){
		"the request is answered by 410":             refuses(apierrors.NewResourceExpired("too old")),
		"the request is answered by 410, wrapped":    refuses(errors.Join(errors.New("pods"), gone())),
		"the watch sends 410":                        sends(failure(gone().ErrStatus)),
		"the request is denied":                      refuses(apierrors.NewForbidden(resource, "", errors.New("no"))),
		"the request is not authenticated":           refuses(apierrors.NewUnauthorized("who")),
		"an object has no version":                   sends(event(watch.Added, "a", "")),
		"an object is nil":                           sends(watch.Event{Type: watch.Added}),
		"an object is a nil pointer":                 sends(watch.Event{Type: watch.Added, Object: (*corev1.Pod)(nil)}),
		"an object cannot have a version":            sends(watch.Event{Type: watch.Added, Object: &metav1.Status{}}),
		"an event is of a type that nobody has seen": sends(event("RENAMED", "a", "4")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				s := newServer(answer)
				w, err := NewRetryWatcherWithContext(ctx, "3", s)
				if err != nil {
					t.Fatal(err)
				}
				names, last := told(w)
				if _, ok := last.Object.(*metav1.Status); last.Type != watch.Error || !ok || len(names) > 0 {
					t.Errorf("it gave %v and at last %v, want an error", names, last)
				}
				if len(s.asked) != 1 || ctx.Err() != nil {
					t.Errorf("it watched %d times", len(s.asked))
				}
			})
		})
	}
}

func TestARetryWatcherTakesItsTimeBetweenTries(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("later")
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 45}
	for name, test := range map[string]struct {
		answer func(metav1.ListOptions) (watch.Interface, error)
		least  time.Duration // between two tries, in the end
	}{
		"requests fail":                     {refuses(errors.New("no route to host")), 30 * time.Second},
		"the client returns nothing":        {refuses(nil), 30 * time.Second},
		"watches end at once":               {sends(), 30 * time.Second},
		"watches fail":                      {sends(failure(metav1.Status{Code: 666})), 30 * time.Second},
		"watches send errors of no sense":   {sends(watch.Event{Type: watch.Error}), 30 * time.Second},
		"the server asks for a pause":       {refuses(unavailable), 45 * time.Second},
		"the server asks in an error event": {sends(failure(unavailable.ErrStatus)), 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				s := newServer(test.answer)
				w, err := NewRetryWatcherWithContext(ctx, "3", s)
				if err != nil {
					t.Fatal(err)
				}
				if _, last := told(w); last.Object != nil {
					t.Errorf("it gave %v", last)
				}
				n := len(s.asked)
				if n < 10 || n > 30 {
					t.Fatalf("it watched %d times in ten minutes", n)
				}
				if pause := s.asked[1].at - s.asked[0].at; pause < time.Second {
					t.Errorf("it watched again after %v", pause)
				}
				if pause := s.asked[n-1].at - s.asked[n-2].at; pause < test.least || pause > 60*time.Second {
					t.Errorf("in the end it watched again after %v, want %v", pause, test.least)
				}
			})
		})
	}
}

func TestARetryWatcherLeavesAWatchThatNobodyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		s := newServer(silent, sends(failure(metav1.Status{Code: http.StatusGone})))
		w, err := NewRetryWatcherWithContext(ctx, "3", s)
		if err != nil {
			t.Fatal(err)
		}
		told(w)
		if len(s.asked) != 2 {
			t.Fatalf("it watched %d times", len(s.asked))
		}
		life := time.Duration(*s.asked[0].opts.TimeoutSeconds) * time.Second
		if got := s.asked[1].at; life < minLife || got < life || got > life+slack+time.Second {
			t.Errorf("it asked for a life of %v and left the watch after %v", life, got)
		}
	})
}

func TestStopEndsARetryWatcherWhateverItWaitsFor(t *testing.T) {
	stuck := make(chan struct{})
	for name, answer := range map[string]func(metav1.ListOptions) (watch.Interface, error){
		"a reader":          sends(event(watch.Added, "a", "5")),
		"an event":          silent,
		"the next try":      refuses(errors.New("no route to host")),
		"a call that hangs": func(metav1.ListOptions) (watch.Interface, error) { <-stuck; return watch.NewFake(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck = make(chan struct{})
				defer func() { close(stuck) }()
				w, err := NewRetryWatcher("3", &cache.ListWatch{WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					return answer(opts) // it heeds no context
				}})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				w.Stop()
				w.Stop()
				<-w.Done()
				if _, ok := <-w.ResultChan(); ok {
					t.Error("it gave an event after its end")
				}
			})
		})
	}
}

func TestARetryWatcherRefusesWhatItCannotUse(t *testing.T) {
	s := newServer(silent)
	var none context.Context
	for name, make := range map[string]func() (*RetryWatcher, error){
		"no version":        func() (*RetryWatcher, error) { return NewRetryWatcherWithContext(t.Context(), "", s) },
		"version 0":         func() (*RetryWatcher, error) { return NewRetryWatcherWithContext(t.Context(), "0", s) },
		"no client":         func() (*RetryWatcher, error) { return NewRetryWatcher("1", nil) },
		"a nil pointer":     func() (*RetryWatcher, error) { return NewRetryWatcher("1", (*cache.ListWatch)(nil)) },
		"no client at all":  func() (*RetryWatcher, error) { return NewRetryWatcherWithContext(t.Context(), "1", nil) },
		"a nil context":     func() (*RetryWatcher, error) { return NewRetryWatcherWithContext(none, "1", s) },
		"a client as a nil": func() (*RetryWatcher, error) { return NewRetryWatcherWithContext(t.Context(), "1", (*server)(nil)) },
	} {
		if w, err := make(); err == nil || w != nil {
			t.Errorf("%s: it returned %v and %v", name, w, err)
		}
	}
}

func TestARetryWatcherWithAnEndedContextAsksNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer(silent)
	w, err := NewRetryWatcherWithContext(ctx, "1", s)
	if err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if _, ok := <-w.ResultChan(); ok || len(s.asked) > 0 {
		t.Error("it has watched")
	}
}
