package apiserver_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

// capture is one request to a genuine server and what it answered. The file
// testdata/kube-apiserver-1.37.jsonl holds a line for each, in the order in which
// they were sent. They were captured from the apiextensions-apiserver 1.37 over
// etcd 3.7, which served the definition of widgets below.
type capture struct {
	Does    string            `json:"does"`
	Send    string            `json:"send"` // method and path
	With    map[string]string `json:"with"` // headers of the request
	Body    string            `json:"body"`
	Code    int               `json:"code"`
	Headers map[string]string `json:"headers"`
	// Answer is the body, as hexadecimal digits if it is in protobuf. It was
	// captured up to 300 bytes of protobuf, and 5,000 of text.
	Answer string `json:"answer"`
}

const wireCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
`

// wireVersion is the newest resource version before the first request.
const wireVersion = 6

// Reasons for answers that are meant to differ.
const (
	noTables     = "there are no tables"
	noApply      = "there is no server-side apply"
	noCRDs       = "definitions of custom resources are not objects"
	noSchema     = "custom resources are checked against no schema"
	noGzip       = "answers are not compressed"
	noOpenAPI    = "there is no OpenAPI"
	ownDiscovery = "an apiextensions-apiserver alone has no discovery of all groups, ours has"
	ownVersion   = "each build tells its own version"
	ownHealth    = "each server has parts of its own to be healthy"
	quotesTypes  = "quotes a Go type of kube-apiserver"
	binary       = "managedFields cannot be masked in protobuf that has been cut off"
	noTime       = "virtual time stands still while a request is served"
	fromStore    = "a watch from before the cache began is served from the store"
	atOnce       = "a compaction shortens the windows of the caches at once"
)

// wireDiffers names the answers that are meant to differ, and why. If one does
// not differ any more, the test fails.
var wireDiffers = map[string]string{
	"create invalid":                          noSchema,
	"list table":                              noTables,
	"watch table":                             noTables,
	"watchlist table":                         noTables,
	"list partialobjectmeta pb":               binary,
	"timeout=1ns list":                        noTime,
	"watch rv=1":                              fromStore,
	"watch prefix path builtin":               noCRDs,
	"watch proto builtin":                     noCRDs,
	"watch proto no stream param":             noCRDs,
	"watch gzip":                              noGzip,
	"patch json bad":                          quotesTypes,
	"patch strategic on CR":                   noApply,
	"apply create":                            noApply,
	"apply conflict":                          noApply,
	"apply no manager":                        noApply,
	"watch from compacted rv still in window": atOnce,
	"/api agg":                                ownDiscovery,
	"/apis agg":                               ownDiscovery,
	"/apis legacy":                            ownDiscovery,
	"/version":                                ownVersion,
	"/openapi/v3":                             noOpenAPI,
	"/readyz":                                 ownHealth,
}

// TestTheWireIsThatOfAGenuineServer replays captured requests in virtual time
// and compares the answers byte by byte; see wireMask for what is left out.
func TestTheWireIsThatOfAGenuineServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resources, err := apiserver.ResourcesFromCRD([]byte(wireCRD))
		if err != nil {
			t.Fatal(err)
		}
		s := apiservertest.Start(t, apiserver.Options{Resources: resources})
		client, err := rest.HTTPClientFor(s.Config())
		if err != nil {
			t.Fatal(err)
		}
		for version := uint64(0); version < wireVersion; version = revision(t, s) {
			create(t, s, fmt.Sprintf("earlier-%d", version))
		}
		w := &wire{t: t, server: s, client: client}
		for _, c := range captures(t) {
			w.replay(c)
		}
	})
}

// revision is the newest resource version.
func revision(t *testing.T, s *apiservertest.Server) uint64 {
	t.Helper()
	version, err := s.Backend().CurrentRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// captures reads the captured requests.
func captures(t *testing.T) []capture {
	data, err := os.ReadFile("testdata/kube-apiserver-1.37.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []capture
	for line := range bytes.Lines(data) {
		var c capture
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// wire replays captured requests.
type wire struct {
	t         *testing.T
	server    *apiservertest.Server
	client    *http.Client
	want, got wireMask
}

// replay sends a request and compares the answer with the captured one.
func (w *wire) replay(c capture) {
	var meanwhile sync.WaitGroup
	defer meanwhile.Wait()
	switch c.Does {
	case "create strict unknown field":
		return // not sent, as it would be created: noSchema
	case "selector transitions":
		meanwhile.Go(w.transitions)
	case "apply create":
		// So that what comes after it finds the object.
		w.send("POST "+widgetsPath, nil, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"ap"},"spec":{"color":"red"}}`)
	case "continue after compaction":
		if err := w.server.Compact(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	code, header, body := w.send(c.Send, c.With, c.Body)
	if strings.Contains(c.Headers["Content-Type"], "protobuf") {
		body = hex.EncodeToString([]byte(body))
	}
	captured := func(name string) string { return c.Headers[name] }
	if reason, differs := wireDiffers[c.Does]; differs {
		// With masks of its own: UIDs of one server only must not be counted.
		if new(wireMask).answer(code, body, header.Get) == new(wireMask).answer(c.Code, c.Answer, captured) {
			w.t.Errorf("%s: no difference any more: %s", c.Does, reason)
		}
		return
	}
	got, want := w.got.answer(code, body, header.Get), w.want.answer(c.Code, c.Answer, captured)
	if got != want {
		w.t.Errorf("%s: %s\n got %s\nwant %s", c.Does, c.Send, got, want)
	}
}

const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"

// send sends a request and reads all of the answer.
func (w *wire) send(what string, headers map[string]string, body string) (int, http.Header, string) {
	method, path, _ := strings.Cut(what, " ")
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.Config().Host+path, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return 0, nil, ""
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0, nil, ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Errorf("%s: read the answer: %v", what, err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// transitions moves a widget into and out of the selection of a watch that is
// open meanwhile.
func (w *wire) transitions() {
	time.Sleep(800 * time.Millisecond)
	merge := map[string]string{"Content-Type": "application/merge-patch+json"}
	for _, patch := range []string{
		`{"metadata":{"labels":{"app":"zz"}}}`, `{"spec":{"color":"green"}}`,
		`{"metadata":{"labels":{"app":"x"}}}`, `{"metadata":{"labels":{"app":"zz"}}}`,
	} {
		w.send("PATCH "+widgetsPath+"/a", merge, patch)
	}
	w.send("DELETE "+widgetsPath+"/a", nil, "")
}

// wireMask makes the answers of two servers comparable: it numbers UIDs in the
// order in which they appear, replaces times and generated names, reads
// continue tokens, in which a slash makes no difference, and leaves out
// managedFields, which ours does not track. Resource versions stay as they are.
type wireMask struct{ uids []string }

var (
	wireUID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	wireTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	wireName    = regexp.MustCompile(`"gen-[a-z0-9]{5}"`)
	wireToken   = regexp.MustCompile(`"continue":"[^"]+"`)
	wireManaged = regexp.MustCompile(`,\s*"managedFields":\s*\[[^\]]*\]`)
)

// answer is the comparable form of an answer.
func (m *wireMask) answer(code int, body string, header func(string) string) string {
	var all strings.Builder
	fmt.Fprintf(&all, "%d", code)
	for _, name := range []string{"Content-Type", "Content-Encoding", "Retry-After", "Warning", "Cache-Control", "X-Content-Type-Options"} {
		if value := header(name); value != "" {
			fmt.Fprintf(&all, "; %s: %s", name, value)
		}
	}
	body = wireManaged.ReplaceAllString(strings.TrimSpace(body), "")
	body = wireTime.ReplaceAllString(body, "<time>")
	body = wireName.ReplaceAllString(body, `"gen-<suffix>"`)
	body = wireToken.ReplaceAllStringFunc(body, func(field string) string {
		token, err := base64.RawURLEncoding.DecodeString(field[len(`"continue":"`) : len(field)-1])
		if err != nil {
			return field
		}
		return "continue " + strings.Replace(string(token), `"start":"/`, `"start":"`, 1)
	})
	body = wireUID.ReplaceAllStringFunc(body, func(uid string) string {
		n := slices.Index(m.uids, uid)
		if n < 0 {
			n, m.uids = len(m.uids), append(m.uids, uid)
		}
		return fmt.Sprintf("<uid %d>", n)
	})
	return all.String() + "\n" + body
}
