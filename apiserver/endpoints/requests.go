package endpoints

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxRequests bounds the log of requests: the oldest half is forgotten when
// it is full.
const maxRequests = 20_000

// Request is what a [Handler] remembers of a request to a resource.
type Request struct {
	// Number counts the requests, from 1, and Time is when the answer began.
	Number int
	Time   time.Time
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection.
	Verb string
	// Resource, Namespace, Name and Subresource are from the path; all but
	// the first may be empty.
	Resource    schema.GroupVersionResource
	Namespace   string
	Name        string
	Subresource string
	// Path and Query are as they came.
	Path  string
	Query string
	// UserAgent tells clients apart.
	UserAgent string
	// Code is the HTTP status of the answer.
	Code int
}

// requestLog remembers requests in the order in which their answers began.
type requestLog struct {
	mu       sync.Mutex
	count    int
	requests []Request
}

func (l *requestLog) add(q *request, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) >= maxRequests {
		l.requests = slices.Delete(l.requests, 0, maxRequests/2)
	}
	l.count++
	r := q.record(code)
	r.Number = l.count
	l.requests = append(l.requests, r)
}

// record is what is remembered of a request.
func (q *request) record(code int) Request {
	return Request{
		Time:        time.Now(),
		Verb:        q.verb,
		Resource:    q.resource,
		Namespace:   q.namespace,
		Name:        q.name,
		Subresource: q.subresource,
		Path:        q.URL.Path,
		Query:       q.URL.RawQuery,
		UserAgent:   q.UserAgent(),
		Code:        code,
	}
}

// target is the path and query of a request.
func (r Request) target() string {
	if r.Query == "" {
		return r.Path
	}
	return r.Path + "?" + r.Query
}

// Requests returns the requests to resources answered so far, in the order in
// which the answers began; a watch is there as soon as it is open. Of very
// many only the newest are kept (at least 10,000). The slice is the caller's.
func (h *Handler) Requests() []Request {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return slices.Clone(h.log.requests)
}
