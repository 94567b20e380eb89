package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
)

// exchange is one request that both servers are sent.
type exchange struct {
	does string
	// send is the method and the path. What stands in braces is filled in: a
	// collection of the namespace of the group, such as {cm}, or something of an
	// earlier answer, such as {a.rv}; see side.fill.
	send string
	// body may have the same places to fill in. as is its content type, JSON
	// if there is a body and nothing else is said.
	body, as string
	accept   string
	// keep is the name by which later requests call the metadata of the answer.
	keep string
	// known are the differences that ours is meant to have, each with its
	// reason: "code", "header", "body", or the path of a field in the body, its
	// parts divided by slashes. All
	// the rest is compared, and a difference that is none fails the test.
	known differ
	// defaulted is set where an object has defaults that ours does not set:
	// then only its kind and its metadata are compared.
	defaulted bool
	// together is set where neighbours can be asked at the same time, because
	// they change nothing. Watches always are.
	together bool
}

// differ tells of known differences: where they are, and why.
type differ map[string]string

// answer is what a server said.
type answer struct {
	code    int
	headers http.Header
	body    any // decoded, see decode
	err     error
}

// comparedHeaders are those that clients act on.
var comparedHeaders = []string{"Content-Type", "Cache-Control", "Retry-After", "Warning"}

// side is one of the two servers.
type side struct {
	base   string
	client *http.Client
	kept   map[string]string
	mask   *masks
}

func newSide(t *testing.T, config *rest.Config) *side {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// The default user agent of net/http, so that neither server answers prettily.
	return &side{base: config.Host, client: client}
}

// enter begins a group of exchanges, with a namespace of its own.
func (s *side) enter(namespace string) {
	s.kept, s.mask = map[string]string{"ns": namespace}, newMasks()
	core, in := "/api/v1/namespaces/"+namespace, "/namespaces/"+namespace
	for name, path := range map[string]string{
		"cm": core + "/configmaps", "pods": core + "/pods", "secrets": core + "/secrets", "services": core + "/services",
		"deps": "/apis/apps/v1" + in + "/deployments", "leases": "/apis/coordination.k8s.io/v1" + in + "/leases",
		"roles": "/apis/rbac.authorization.k8s.io/v1" + in + "/roles", "self": core,
	} {
		s.kept[name] = path
	}
}

// fill replaces {name} by what is kept under the name.
func (s *side) fill(text string) string {
	pairs := make([]string, 0, 2*len(s.kept))
	for name, value := range s.kept {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// do sends one request and reads the whole answer.
func (s *side) do(t *testing.T, e exchange) answer {
	a, err := s.ask(t, e)
	a.err = err
	return a
}

func (s *side) ask(t *testing.T, e exchange) (answer, error) {
	method, path, _ := strings.Cut(s.fill(e.send), " ")
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(s.fill(e.body)))
	if err != nil {
		return answer{}, err
	}
	if e.as != "" {
		req.Header.Set("Content-Type", e.as)
	} else if e.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.accept != "" {
		req.Header.Set("Accept", e.accept)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	a := answer{code: resp.StatusCode, headers: http.Header{}}
	for _, name := range comparedHeaders {
		if values := resp.Header.Values(name); len(values) > 0 {
			a.headers[name] = values
		}
	}
	body, err := decode(data, resp.Header.Get("Content-Type"), isWatch(path))
	if err != nil {
		return answer{}, fmt.Errorf("decode %q: %w", data, err)
	}
	a.body = body
	return a, nil
}

// keep remembers the metadata of an answer.
func (s *side) keep(name string, body any) {
	obj, ok := body.(map[string]any)
	if name == "" || !ok {
		return
	}
	meta, _ := obj["metadata"].(map[string]any)
	for key, field := range map[string]string{"rv": "resourceVersion", "uid": "uid", "continue": "continue", "name": "name"} {
		if value, ok := meta[field].(string); ok {
			s.kept[name+"."+key] = value
		}
	}
}

// TestOurServerAnswersAsKubeAPIServerDoes sends the same requests to both and
// compares status codes, headers and bodies. What is masked in a body is listed
// at the type masks, and what ours does otherwise on purpose at the exchange.
func TestOurServerAnswersAsKubeAPIServerDoes(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	genuine, ours := newSide(t, jsonConfig()), newSide(t, server.Config())
	for _, group := range exchanges() {
		t.Run(group.name, func(t *testing.T) {
			namespace := "fidelity-" + group.name
			makeNamespace(t, client(t, jsonConfig()), namespace)
			makeNamespace(t, client(t, server.Config()), namespace)
			genuine.enter(namespace)
			ours.enter(namespace)
			// One after another, because each may need what those before have
			// made: that is why these are no subtests. Those that only read and
			// last for a while, as watches do, run together with their neighbours.
			for rest := group.exchanges; len(rest) > 0; {
				n := 1
				for n < min(len(rest), atOnce) && rest[n-1].isRead() && rest[n].isRead() {
					n++
				}
				compare(t, rest[:n], genuine, ours)
				rest = rest[n:]
			}
		})
	}
}

// atOnce is how many requests a server is sent at the same time: so few that the
// genuine one, which needs a second to start many watches, keeps to its times.
const atOnce = 24

// compare sends requests to both servers, all at the same time, and compares
// the answers.
func compare(t *testing.T, together []exchange, genuine, ours *side) {
	t.Helper()
	got, want := make([]answer, len(together)), make([]answer, len(together))
	var all sync.WaitGroup
	for i, e := range together {
		all.Go(func() { want[i] = genuine.do(t, e) })
		all.Go(func() { got[i] = ours.do(t, e) })
	}
	all.Wait()
	for i, e := range together {
		genuine.note(e, &want[i])
		ours.note(e, &got[i])
		judge(t, e, got[i], want[i])
	}
}

// note keeps what later requests need of an answer, and masks it.
func (s *side) note(e exchange, a *answer) {
	s.keep(e.keep, a.body)
	a.body = s.mask.apply(a.body)
}

// judge compares the answers to one request.
func judge(t *testing.T, e exchange, got, want answer) {
	t.Helper()
	if got.err != nil || want.err != nil {
		t.Errorf("%s: ours: %v; kube-apiserver: %v", e.does, got.err, want.err)
		return
	}
	if e.defaulted {
		got.body, want.body = outline(got.body), outline(want.body)
	}
	for where, reason := range e.known {
		if !differs(where, &got, &want) {
			t.Errorf("%s: %s: no difference any more: %s", e.does, where, reason)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %s\n          ours %s\nkube-apiserver %s", e.does, e.send, got, want)
	}
}

// outline returns of an object only its kind and its metadata; of anything else
// all.
func outline(body any) any {
	obj, ok := body.(map[string]any)
	if !ok || obj["kind"] == "Status" {
		return body
	}
	return map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"]}
}

// differs takes a known difference out of both answers and reports whether it
// was one.
func differs(where string, got, want *answer) bool {
	var a, b any
	switch where {
	case "code":
		a, b = got.code, want.code
		got.code = want.code
	case "header":
		a, b = got.headers, want.headers
		got.headers = want.headers
	case "body":
		a, b = got.body, want.body
		got.body = want.body
	default:
		path := strings.Split(where, "/")
		a, b = take(got.body, path), take(want.body, path)
	}
	return !reflect.DeepEqual(a, b)
}

// take removes a field and returns what it was. In lists it does so with all
// elements, and returns what the last one had.
func take(body any, path []string) any {
	switch body := body.(type) {
	case []any:
		var all []any
		for _, element := range body {
			all = append(all, take(element, path))
		}
		return all
	case map[string]any:
		if len(path) > 1 {
			return take(body[path[0]], path[1:])
		}
		value := body[path[0]]
		delete(body, path[0])
		return value
	}
	return nil
}

// String shows an answer in one line for each of its parts.
func (a answer) String() string {
	var headers []string
	for name, values := range a.headers {
		headers = append(headers, fmt.Sprintf("%s: %q", name, values))
	}
	slices.Sort(headers)
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.body); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s\n%s", a.code, strings.Join(headers, ", "), strings.TrimSpace(body.String()))
}

// isRead reports whether the exchange can be asked at the same time as others.
func (e exchange) isRead() bool { return e.together || isWatch(e.send) }

// isWatch reports whether a path asks for a watch.
func isWatch(path string) bool {
	return strings.Contains(path, "watch=") || strings.Contains(path, "/watch/")
}
