package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/informer"
)

var idleMetrics = []metric{
	{key: "goroutines", label: "goroutines of an informer", unit: "count"},
	{key: "handler goroutines", label: "goroutines of a handler", unit: "count"},
	{key: "bytes", label: "bytes of an informer", unit: "B"},
	{key: "handler bytes", label: "bytes of a handler", unit: "B"},
	{key: "both", label: "bytes of an informer and a handler", unit: "B"},
}

func idleContests(o options) []contest {
	j := job{Kind: "idle", Pods: 1000}
	if o.quick {
		j.Pods = 20
	}
	return []contest{{name: "idle", metrics: idleMetrics, runs: 2, theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}}}
}

// emptyServer answers every watch with a streaming list of nothing and keeps it
// open. It is in the client's process and has no goroutine and no connection, so
// that there is nothing but the informers to be counted.
type emptyServer struct{ bookmark []byte }

func newEmptyServer() (*emptyServer, error) {
	set, err := datasetNamed(podsProtobuf)
	if err != nil {
		return nil, err
	}
	w, err := newWire(set, 0)
	if err != nil {
		return nil, err
	}
	bookmark, err := w.bookmark(1)
	return &emptyServer{bookmark}, err
}

// RoundTrip answers a request.
func (s *emptyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r}
	if r.URL.Query().Get("watch") == "" {
		answer.Header.Set("Content-Type", "application/json")
		answer.Body = io.NopCloser(strings.NewReader(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}`))
		return answer, nil
	}
	answer.Header.Set("Content-Type", protobufFormat{}.watchType())
	answer.Body = &openBody{rest: s.bookmark, ctx: r.Context(), closed: make(chan struct{})}
	return answer, nil
}

// openBody has some bytes and then nothing more until it is closed.
type openBody struct {
	rest   []byte
	ctx    context.Context
	closed chan struct{}
}

// Read reads what is left, and then waits.
func (b *openBody) Read(to []byte) (int, error) {
	if len(b.rest) > 0 {
		n := copy(to, b.rest)
		b.rest = b.rest[n:]
		return n, nil
	}
	select {
	case <-b.closed:
		return 0, io.EOF
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

// Close ends it.
func (b *openBody) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

// idleSides makes informers, each of a namespace of its own, without handlers.
func idleSides(ctx context.Context, j job) ([]side, error) {
	server, err := newEmptyServer()
	if err != nil {
		return nil, err
	}
	config := clientConfig(job{Data: podsProtobuf, URL: "http://nobody.invalid", Mode: modeStream})
	config.Transport = server
	if j.Side == clientGo {
		return theirIdleSides(config, j.Pods)
	}
	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		return nil, err
	}
	var out []side
	for n := range j.Pods {
		i, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{Scope: informer.Scope{Namespace: fmt.Sprintf("team-%d", n)}})
		if err != nil {
			return nil, err
		}
		s, err := newOurs(i, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func theirIdleSides(config *rest.Config, count int) ([]side, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var out []side
	for n := range count {
		s, err := newTheirs(coreinformers.NewPodInformer(client, fmt.Sprintf("team-%d", n), 0, cache.Indexers{}), nil)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// measureIdleInformers is the job of a child process: many informers of empty collections,
// then a handler for each.
func measureIdleInformers(ctx context.Context, j job) (_ sample, err error) {
	goroutines, bytes := atRest()
	sides, err := idleSides(ctx, j)
	if err != nil {
		return nil, err
	}
	var stops []func() error
	defer func() {
		for _, stop := range stops {
			if stopErr := stop(); err == nil {
				err = stopErr
			}
		}
	}()
	for _, s := range sides {
		stops = append(stops, start(ctx, s))
	}
	for _, s := range sides {
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
	}
	running, runningBytes := atRest()
	for _, s := range sides {
		synced, err := follow(s, func(*corev1.Pod) {})
		if err != nil {
			return nil, err
		}
		if err := synced(ctx); err != nil {
			return nil, err
		}
	}
	followed, followedBytes := atRest()
	n := float64(len(sides))
	return sample{
		"goroutines":         float64(running-goroutines) / n,
		"handler goroutines": float64(followed-running) / n,
		"bytes":              float64(runningBytes-bytes) / n,
		"handler bytes":      float64(followedBytes-runningBytes) / n,
		"both":               float64(followedBytes-bytes) / n,
	}, nil
}

// restTime is how long the number of goroutines must stay the same.
const restTime = 200 * time.Millisecond

// atRest waits until goroutines neither come nor go, and returns their number and
// the bytes of heap and stacks.
func atRest() (goroutines, bytes int64) {
	for n := -1; n != runtime.NumGoroutine(); {
		n = runtime.NumGoroutine()
		time.Sleep(restTime)
	}
	heap := liveHeap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(runtime.NumGoroutine()), int64(heap + m.StackInuse)
}
