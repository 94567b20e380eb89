package endpoints_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/apiserver/fault"
)

func TestFaultsOfWatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault.Fault
		want  []string
		reset bool
	}{
		{"an end after two events", fault.Fault{Cut: fault.CutEnd, AfterEvents: 2}, []string{"ADDED a 2", "ADDED b 3"}, false},
		{"an end at once", fault.Fault{Cut: fault.CutEnd}, nil, false},
		{"a reset after one event", fault.Fault{Cut: fault.CutReset, AfterEvents: 1}, []string{"ADDED a 2"}, true},
		{"an error event", fault.Fault{Cut: fault.CutError, Code: 410, AfterEvents: 1}, []string{"ADDED a 2", "ERROR injected fault: 410 Gone"}, false},
		{"a list without an end", fault.Fault{NoInitialEnd: true}, []string{"ADDED a 2", "ADDED b 3"}, false},
		{"no bookmarks but the one that ends the list", fault.Fault{NoBookmarks: true}, []string{"ADDED a 2", "ADDED b 3", "BOOKMARK  3"}, false},
		{"a replayed event", fault.Fault{Illegal: fault.IllegalReplay, AfterEvents: 2}, []string{"ADDED a 2", "ADDED b 3", "ADDED b 3", "BOOKMARK  3"}, false},
		{"the first event replayed", fault.Fault{Illegal: fault.IllegalReplay}, []string{"ADDED a 2", "ADDED a 2", "ADDED b 3", "BOOKMARK  3"}, false},
		{"swapped events", fault.Fault{Illegal: fault.IllegalSwap}, []string{"ADDED b 3", "ADDED a 2", "BOOKMARK  3"}, false},
		{"later events swapped", fault.Fault{Illegal: fault.IllegalSwap, AfterEvents: 1}, []string{"ADDED a 2", "BOOKMARK  3", "ADDED b 3"}, false},
		{"an event without one to swap it with", fault.Fault{Illegal: fault.IllegalSwap, AfterEvents: 2}, []string{"ADDED a 2", "ADDED b 3"}, false},
		{"an end behind the bookmark", fault.Fault{Cut: fault.CutEnd, AfterEvents: 3}, []string{"ADDED a 2", "ADDED b 3", "BOOKMARK  3"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t)
				a.widget("a", "x", "red")
				a.widget("b", "x", "red")
				c.fault.Times = 1
				if err := a.faults.Add(c.fault); err != nil {
					t.Fatal(err)
				}
				w := httptest.NewRecorder()
				reset := func() (reset bool) {
					defer func() { reset = recover() == http.ErrAbortHandler }()
					a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=5"+streaming, nil))
					return
				}()
				expectLines(a, w, c.want...)
				if reset != c.reset {
					t.Errorf("reset = %v", reset)
				}
				w = a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=5"+streaming, "")
				expectLines(a, w, "ADDED a 2", "ADDED b 3", "BOOKMARK  3")
			})
		})
	}
}

func TestFaultsThatAnswer(t *testing.T) {
	reasons := map[int]metav1.StatusReason{
		400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		410: metav1.StatusReasonExpired, 422: metav1.StatusReasonInvalid, 429: metav1.StatusReasonTooManyRequests,
		500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable, 504: metav1.StatusReasonTimeout,
	}
	for code, reason := range reasons {
		for _, retry := range []time.Duration{0, 3 * time.Second} {
			a := newAPI(t)
			if err := a.faults.Add(fault.Fault{Code: code, RetryAfter: retry}); err != nil {
				t.Fatal(err)
			}
			w := a.call(http.MethodGet, widgetPath, "")
			s := a.status(w)
			if w.Code != code || int(s.Code) != code || s.Reason != reason || s.Details.Kind != "widgets" {
				t.Errorf("%d: %d %s", code, w.Code, w.Body)
			}
			if header := w.Header().Get("Retry-After"); (header == "3") != (retry > 0) || (s.Details.RetryAfterSeconds == 3) != (retry > 0) {
				t.Errorf("%d: Retry-After %q in %s", code, header, w.Body)
			}
		}
	}
}

func TestADelayPassesBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		if err := a.faults.Add(fault.Fault{Verb: "list", Delay: 7 * time.Second}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		a.must(http.MethodGet, widgetPath, "")
		if d := time.Since(begin); d != 7*time.Second {
			t.Errorf("it took %v of the time in the bubble", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		a.callContext(ctx, http.MethodGet, widgetPath, "")
		if d := time.Since(begin); d != time.Second {
			t.Errorf("a client that goes away waited for %v", d)
		}
	})
}

func TestAFaultStrikesStreamingListsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		if err := a.faults.Add(fault.Fault{Streaming: true, Code: 422}); err != nil {
			t.Fatal(err)
		}
		if w := a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=1"+streaming, ""); w.Code != 422 {
			t.Errorf("a streaming list: %d %s", w.Code, w.Body)
		}
		if w := a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=1", ""); w.Code != 200 {
			t.Errorf("a watch: %d %s", w.Code, w.Body)
		}
	})
}
