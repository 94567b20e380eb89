package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/internal/rawread"
)

// loadWriters is how many clients fill the server.
const loadWriters = 8

// loadSection stores objects in a server and reads them in every way.
func loadSection(o options, progress io.Writer) ([]figure, error) {
	fmt.Fprintf(progress, "server, load: %d pods\n", o.objects)
	j := job{Kind: "load", Pods: o.objects}
	if o.profile != "" {
		j.Heap = o.profile
	}
	s, err := runChild(j)
	if err != nil {
		return nil, err
	}
	metrics := []metric{
		{key: readProtobuf + " size", label: "an object in a list, protobuf", unit: "B"},
		{key: readJSON + " size", label: "an object in a list, JSON", unit: "B"},
		{key: "stored", label: "memory per object, stored", unit: "B"},
		{key: "cached", label: "memory per object, stored and in the watch cache", unit: "B"},
		{key: "watched", label: "memory per object, after every list and watch below", unit: "B"},
		{key: "create time", label: "create", unit: "µs/object"},
		{key: "create cpu", label: "create: CPU of server and client", unit: "µs/object"},
		{key: "fill time", label: "filling the watch cache", unit: "µs/object"},
	}
	for _, r := range reads {
		metrics = append(metrics,
			metric{key: r.name + " time", label: r.name, unit: "µs/object"},
			metric{key: r.name + " cpu", label: r.name + ": CPU", unit: "µs/object"},
			metric{key: r.name + " peak", label: r.name + ": heap above what is stored, at most", unit: "MB"})
	}
	return sampleFigures(s, metrics)
}

// loadMark is the text that rawread counts: an annotation of every pod.
const loadMark = "checksum/config"

// read is one way to read everything.
type read struct {
	name  string
	media string
	do    func(ctx context.Context, r rawread.Reader) (rawread.Count, error)
}

const (
	readProtobuf = "list whole, protobuf"
	readJSON     = "list whole, JSON"
)

var reads = []read{
	{readProtobuf, runtime.ContentTypeProtobuf, readWhole},
	{readJSON, runtime.ContentTypeJSON, readWhole},
	{"list in pages, protobuf", runtime.ContentTypeProtobuf, readPages},
	{"list in pages, JSON", runtime.ContentTypeJSON, readPages},
	{"streaming list, protobuf", runtime.ContentTypeProtobuf, readInitial},
	{"streaming list, JSON", runtime.ContentTypeJSON, readInitial},
}

func readWhole(ctx context.Context, r rawread.Reader) (rawread.Count, error) {
	return r.List(ctx, url.Values{})
}

func readPages(ctx context.Context, r rawread.Reader) (rawread.Count, error) {
	return r.Pages(ctx, pageSize)
}

func readInitial(ctx context.Context, r rawread.Reader) (rawread.Count, error) { return r.Initial(ctx) }

// measureLoad is the job of a child process: the server, and clients that do no
// more than count.
func measureLoad(ctx context.Context, j job) (s sample, err error) {
	heap := liveHeap()
	server, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	l := &serverLoad{job: j, url: server.Config().Host + "/api/v1/pods", sample: sample{}, client: &http.Client{Transport: &http.Transport{}}}
	defer l.client.CloseIdleConnections()
	perObject := func(key string) error {
		l.sample[key] = (float64(liveHeap()) - float64(heap)) / float64(j.Pods)
		return l.profile(key)
	}
	config := server.Config()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := l.phase("create", func() error { return fillServer(ctx, client, j.Pods) }); err != nil {
		return nil, err
	}
	if err := perObject("stored"); err != nil {
		return nil, err
	}
	if err := l.phase("fill", func() error { return fillCache(ctx, client) }); err != nil {
		return nil, err
	}
	if err := perObject("cached"); err != nil {
		return nil, err
	}
	for _, r := range reads {
		if err := l.phase(r.name, func() error { return l.read(ctx, r) }); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if err := perObject("watched"); err != nil {
		return nil, err
	}
	return l.sample, nil
}

// serverLoad reads one server.
type serverLoad struct {
	job    job
	url    string
	client *http.Client
	sample sample
}

// phase does the work of one phase and notes what it took.
func (l *serverLoad) phase(name string, work func() error) error {
	live := liveHeap()
	before, err := readUsage()
	if err != nil {
		return err
	}
	heap := watchHeap()
	began := time.Now()
	err = work()
	took := time.Since(began)
	after, usageErr := readUsage()
	peak := heap.stop()
	if err := errors.Join(err, usageErr); err != nil {
		return err
	}
	n := float64(l.job.Pods)
	l.sample[name+" time"] = took.Seconds() * 1e6 / n
	l.sample[name+" cpu"] = after.since(before).cpu.Seconds() * 1e6 / n
	l.sample[name+" peak"] = (float64(peak) - float64(live)) / 1e6
	return nil
}

// profile writes a heap profile if the job asks for it.
func (l *serverLoad) profile(name string) (err error) {
	if l.job.Heap == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(l.job.Heap, "heap-"+name+".pprof"))
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// fillServer creates the pods.
func fillServer(ctx context.Context, client kubernetes.Interface, pods int) error {
	errs := make([]error, loadWriters)
	var running sync.WaitGroup
	for w := range loadWriters {
		running.Go(func() {
			for i := w; i < pods && errs[w] == nil; i += loadWriters {
				pod := makePod(i)
				pod.ResourceVersion = ""
				_, errs[w] = client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// fillCache makes the server fill its watch cache, by a watch, which waits for it.
func fillCache(ctx context.Context, client kubernetes.Interface) error {
	w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err == nil {
		w.Stop()
	}
	return err
}

// read reads everything and checks that it was everything.
func (l *serverLoad) read(ctx context.Context, r read) error {
	c, err := r.do(ctx, l.reader(r.media))
	if err == nil && c.Objects != l.job.Pods {
		err = fmt.Errorf("%d objects came, want %d", c.Objects, l.job.Pods)
	}
	l.sample[r.name+" size"] = float64(c.Bytes) / float64(l.job.Pods)
	return err
}

func (l *serverLoad) reader(media string) rawread.Reader {
	return rawread.Reader{Client: l.client, URL: l.url, Media: media, Mark: loadMark}
}
