package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heliograph.example/e2e/harness"
	"heliograph.example/informer"
)

// mode is one of the ways to get the state at hand.
type mode struct {
	name   string
	refuse func(harness.Request, *http.Request) *http.Response
	// check compares the requests for one resource, and what the informer says
	// about itself, with the mode.
	check func(requests []harness.Request, status informer.Status, contentType string) error
}

var modes = []mode{
	{"streaming", nil, checkStreaming},
	{"in pages", refuseStreaming, checkPages},
}

// refuseStreaming answers like a server from before streaming lists.
func refuseStreaming(r harness.Request, req *http.Request) *http.Response {
	if !r.Streaming() {
		return nil
	}
	const body = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: ` +
		`sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",` +
		`"reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden",` +
		`"message":"Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",` +
		`"field":"sendInitialEvents"}]},"code":422}`
	return &http.Response{
		StatusCode: http.StatusUnprocessableEntity,
		Status:     "422 Unprocessable Entity",
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}
}

// checkStreaming expects a streaming list, which goes on as the watch, and no
// other request but such as resume it.
func checkStreaming(requests []harness.Request, status informer.Status, contentType string) error {
	if len(requests) == 0 || !requests[0].Streaming() {
		return fmt.Errorf("want a streaming list first, got %v", requests)
	}
	errs := []error{checkAnswer(requests[0], contentType), checkWatches(requests[1:], contentType)}
	if s := status.Reader; s.Streams != 1 || s.Pages != 0 || int(s.Watches) != len(requests)-1 || s.Fallback != "" {
		errs = append(errs, fmt.Errorf("the reader counts streams %d, pages %d, watches %d, fallback %q, after %v", s.Streams, s.Pages, s.Watches, s.Fallback, requests))
	}
	return errors.Join(errs...)
}

// checkPages expects one try to stream, as many pages as the limit makes of the
// objects, and a watch from where the list ends.
func checkPages(requests []harness.Request, status informer.Status, contentType string) error {
	if len(requests) < 3 || !requests[0].Streaming() || requests[0].Status != http.StatusUnprocessableEntity {
		return fmt.Errorf("want a refused streaming list, pages, and a watch; got %v", requests)
	}
	pages, watches := requests[1:], []harness.Request(nil)
	if n := slices.IndexFunc(pages, func(r harness.Request) bool { return r.Watch }); n >= 0 {
		pages, watches = pages[:n], pages[n:]
	}
	if len(pages) == 0 || len(watches) == 0 {
		return fmt.Errorf("want pages and a watch after the refusal; got %v", requests)
	}
	errs := []error{checkWatches(watches, contentType)}
	for n, r := range pages {
		if (n == 0) != (r.Query.Get("continue") == "") {
			errs = append(errs, fmt.Errorf("page %d has the wrong token: %v", n+1, r))
		}
		errs = append(errs, checkAnswer(r, contentType))
	}
	limit, err := strconv.Atoi(pages[0].Query.Get("limit"))
	if err != nil || limit <= 0 {
		return errors.Join(append(errs, fmt.Errorf("the first page has no limit: %v", pages[0]))...)
	}
	if want := (status.Reader.Objects + limit - 1) / limit; len(pages) != want || want < 2 {
		errs = append(errs, fmt.Errorf("%d pages for %d objects with limit %d", len(pages), status.Reader.Objects, limit))
	}
	if s := status.Reader; int(s.Pages) != len(pages) || int(s.Watches) != len(watches) || s.Fallback == "" {
		errs = append(errs, fmt.Errorf("the reader counts streams %d, pages %d, watches %d, fallback %q, after %v", s.Streams, s.Pages, s.Watches, s.Fallback, requests))
	}
	return errors.Join(errs...)
}

// checkWatches expects watches that go on from a version. There may be several:
// the server ends the watch of a client that it finds too slow, and on a busy
// machine that is anybody.
func checkWatches(watches []harness.Request, contentType string) error {
	var errs []error
	for _, r := range watches {
		if !r.Watch || r.Streaming() || r.Query.Get("resourceVersion") == "" {
			errs = append(errs, fmt.Errorf("no watch from a version: %v", r))
		}
		errs = append(errs, checkAnswer(r, contentType))
	}
	return errors.Join(errs...)
}

func checkAnswer(r harness.Request, contentType string) error {
	if r.Status != http.StatusOK || r.ContentType != contentType {
		return fmt.Errorf("want 200 with %s: %v", contentType, r)
	}
	return nil
}
