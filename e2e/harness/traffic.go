package harness

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Request is one LIST or WATCH that a client sent.
type Request struct {
	// Resource is the last element of the path, such as "configmaps".
	Resource string
	// Watch tells a WATCH from a LIST.
	Watch bool
	// Query holds the parameters, such as resourceVersion and limit.
	Query url.Values
	// Status is that of the response; 0 if there was none.
	Status int
	// ContentType is that of the response.
	ContentType string
}

// Streaming reports whether the request asks for a streaming list: a watch that
// sends the state at hand before its changes.
func (r Request) Streaming() bool {
	return r.Watch && r.Query.Get("sendInitialEvents") == "true"
}

// String shows the request as one line.
func (r Request) String() string {
	verb := "LIST"
	if r.Watch {
		verb = "WATCH"
	}
	return fmt.Sprintf("%s %s?%s -> %d %s", verb, r.Resource, r.Query.Encode(), r.Status, r.ContentType)
}

// Traffic records the LISTs and WATCHes of clients. Its zero value is ready; its
// methods may be called by any number of goroutines. It must not be copied.
type Traffic struct {
	// Refuse, if not nil, may answer a request in place of the server: when
	// it returns a response, that is what the client gets. It must be set
	// before the first request.
	Refuse func(Request, *http.Request) *http.Response

	mu       sync.Mutex
	requests []Request
}

// Attach returns a copy of config whose clients are recorded.
func (t *Traffic) Attach(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper{traffic: t, next: next}
	})
	return config
}

// Requests returns those for a resource so far, in the order of their answers.
func (t *Traffic) Requests(resource string) []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []Request
	for _, r := range t.requests {
		if r.Resource == resource {
			found = append(found, r)
		}
	}
	return found
}

type roundTripper struct {
	traffic *Traffic
	next    http.RoundTripper
}

func (rt roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	r := Request{Resource: path.Base(req.URL.Path), Watch: query.Get("watch") == "true" || query.Get("watch") == "1", Query: query}
	var resp *http.Response
	var err error
	if rt.traffic.Refuse != nil {
		resp = rt.traffic.Refuse(r, req)
	}
	if resp == nil {
		resp, err = rt.next.RoundTrip(req)
	}
	if req.Method != http.MethodGet {
		return resp, err
	}
	if resp != nil {
		r.Status = resp.StatusCode
		r.ContentType, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	}
	rt.traffic.mu.Lock()
	rt.traffic.requests = append(rt.traffic.requests, r)
	rt.traffic.mu.Unlock()
	return resp, err
}
