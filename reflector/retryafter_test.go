package reflector

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"heliograph.example/deltafifo"
)

// refusals is a transport without a server. It refuses the first request of a verb
// with a header, and answers the others.
type refusals struct {
	code    int
	verb    string
	header  string
	body    string
	times   []time.Duration
	began   time.Time
	refused bool
}

func (s *refusals) RoundTrip(r *http.Request) (*http.Response, error) {
	verb := "list"
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	body := io.Reader(strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}`))
	if verb == "watch" {
		body = blocked{r.Context()}
	}
	if verb == s.verb {
		s.times = append(s.times, time.Since(s.began))
		if !s.refused {
			s.refused = true
			answer.StatusCode, body = s.code, strings.NewReader(s.body)
			answer.Header.Set("Retry-After", s.header)
		}
	}
	answer.Body = io.NopCloser(body)
	return answer, nil
}

// blocked is the body of a watch that brings nothing.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }

func TestRetryAfterInTheHeaderAloneIsHonoured(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInternalServerError} {
			for name, body := range map[string]string{
				"a status": fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":%d,"details":{}}`, code),
				"text":     "later",
			} {
				t.Run(fmt.Sprint(verb, " ", code, " with ", name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &refusals{code: code, verb: verb, header: "40", body: body, began: time.Now()}
						r := overTransport(t, s)
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						if err := r.Run(ctx); err != nil {
							t.Error(err)
						}
						if len(s.times) < 2 || s.times[1] != 40*time.Second {
							t.Errorf("asked at %v", s.times)
						}
					})
				})
			}
		}
	}
}

// overTransport is a reflector over a client of client-go.
func overTransport(t *testing.T, s http.RoundTripper) *Reflector[*corev1.Pod] {
	t.Helper()
	client, err := rest.RESTClientForConfigAndClient(&rest.Config{Host: "http://nowhere", APIPath: "/api", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}, &http.Client{Transport: KeepRetryAfter(s)})
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewRESTSource[*corev1.Pod](client, "pods", SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(source, Sink[*corev1.Pod](emptySink{}), Options[*corev1.Pod]{Streaming: StreamingNever})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheHeaderRetryAfterIsReadWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{
			"7":                       7 * time.Second,
			"0":                       0,
			"-5":                      0,
			"1e9":                     0,
			"":                        0,
			"99999999999999999999999": 0,
			"999999999":               time.Hour,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat):  90 * time.Second,
			time.Now().Add(-90 * time.Second).UTC().Format(http.TimeFormat): 0,
		} {
			var h heard
			if pause, ok := parseRetryAfter(header); ok {
				h.tell(pause)
			}
			if got, _ := retryAfter(h.in(errInternal)); got != want {
				t.Errorf("%q: %v, want %v", header, got, want)
			}
		}
	})
	asks := status(http.StatusTooManyRequests, "TooManyRequests")
	h := heard{}
	h.tell(time.Minute)
	if got := h.in(asks); !strings.Contains(got.Error(), "TooManyRequests") || classify(got) != ClassTooManyRequests {
		t.Errorf("%v is %v", got, classify(got))
	}
}

// emptySink holds nothing.
type emptySink struct{}

func (emptySink) Push([]deltafifo.Delta[*corev1.Pod]) error { return nil }

func (emptySink) Known(context.Context) (Known, error) { return view(nil), nil }
