package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
)

const (
	probe     = "probe/1.0"
	probePath = "/api/v1/namespaces/a/configmaps"
	// probeWatch asks for a watch of a minute from the state on.
	probeWatch = probePath + "?watch=1&resourceVersion=0&timeoutSeconds=60"
)

// exchange is one request without a client library, and when what of its answer
// came.
type exchange struct {
	code    int
	arrived []string
	err     error
}

// ask does a request, and reads the answer line by line for at most an hour.
func ask(t *testing.T, s *apiservertest.Server, method, path string, body io.Reader) exchange {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	begin := time.Now()
	r, err := http.NewRequestWithContext(ctx, method, s.Config().Host+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", probe)
	answer, err := s.Config().Transport.RoundTrip(r)
	if err != nil {
		return exchange{err: err, arrived: []string{fmt.Sprint(time.Since(begin), " error")}}
	}
	defer answer.Body.Close()
	e := exchange{code: answer.StatusCode}
	arrive := func(what string) { e.arrived = append(e.arrived, fmt.Sprint(time.Since(begin), " ", what)) }
	arrive(fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Retry-After")))
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			arrive(summary(line))
		}
		if err != nil {
			if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				e.err = err
				arrive("error")
			} else {
				arrive("end")
			}
			return e
		}
	}
}

// summary says in short what a line of an answer is.
func summary(line string) string {
	var event struct {
		Kind, Type, Reason string
		Object             struct {
			Reason   string
			Metadata metav1.ObjectMeta
		}
	}
	switch err := json.Unmarshal([]byte(line), &event); {
	case err != nil:
		return "garbage"
	case event.Type != "":
		return event.Type + " " + event.Object.Metadata.Name + event.Object.Reason
	}
	return event.Kind + " " + event.Reason
}

// bubble runs a test in virtual time, with a server that has the config maps m0
// to m2.
func bubble(t *testing.T, test func(t *testing.T, s *apiservertest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		s := apiservertest.Start(t, apiserver.Options{})
		for i := range 3 {
			create(t, s, fmt.Sprint("m", i))
		}
		test(t, s)
	})
}

func create(t *testing.T, s *apiservertest.Server, name string) *corev1.ConfigMap {
	t.Helper()
	m, err := s.Client().CoreV1().ConfigMaps("a").Create(t.Context(), configMap(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatAClientSeesOfEachFault(t *testing.T) {
	const get, post = http.MethodGet, http.MethodPost
	state := []string{"0s 200 ", "0s ADDED m0", "0s ADDED m1", "0s ADDED m2"}
	after := func(n int, more ...string) []string { return append(slices.Clone(state[:n+1]), more...) }
	for name, c := range map[string]struct {
		fault        fault.Fault
		method, path string
		want         []string
		err          error
	}{
		"nothing":             {fault.Fault{Client: "someone else", Code: 500}, get, probeWatch, after(3, "1m0s end"), nil},
		"an end":              {fault.Fault{Cut: fault.CutEnd, AfterEvents: 2}, get, probeWatch, after(2, "0s end"), nil},
		"an end at once":      {fault.Fault{Cut: fault.CutEnd}, get, probeWatch, after(0, "0s end"), nil},
		"an error event":      {fault.Fault{Cut: fault.CutError, Code: 410, AfterEvents: 1}, get, probeWatch, after(1, "0s ERROR Expired", "0s end"), nil},
		"a reset":             {fault.Fault{Cut: fault.CutReset, AfterEvents: 1}, get, probeWatch, after(1, "0s error"), io.ErrUnexpectedEOF},
		"a reset at once":     {fault.Fault{Cut: fault.CutReset}, get, probeWatch, after(0, "0s error"), io.ErrUnexpectedEOF},
		"a cut frame":         {fault.Fault{Cut: fault.CutFrame, AfterEvents: 2}, get, probeWatch, after(2, "0s garbage", "0s error"), io.ErrUnexpectedEOF},
		"the first frame cut": {fault.Fault{Cut: fault.CutFrame}, get, probeWatch, after(0, "0s garbage", "0s error"), io.ErrUnexpectedEOF},
		"a stall":             {fault.Fault{Cut: fault.CutStall, AfterEvents: 2}, get, probeWatch, after(2, "1h0m0s error"), context.DeadlineExceeded},
		"a stall at once":     {fault.Fault{Cut: fault.CutStall}, get, probeWatch, after(0, "1h0m0s error"), context.DeadlineExceeded},
		"a black hole":        {fault.Fault{Cut: fault.CutBlackHole, AfterEvents: 2}, get, probeWatch, after(2, "1h0m0s error"), context.DeadlineExceeded},
		"a pause": {fault.Fault{Pause: 25 * time.Second}, get, probeWatch,
			[]string{"0s 200 ", "25s ADDED m0", "50s ADDED m1", "1m0s end"}, nil},
		"a pause before a cut": {fault.Fault{Pause: time.Second, Cut: fault.CutReset, AfterEvents: 2}, get, probeWatch,
			[]string{"0s 200 ", "1s ADDED m0", "2s ADDED m1", "2s error"}, io.ErrUnexpectedEOF},
		"a slow first byte":  {fault.Fault{Delay: 7 * time.Second, Cut: fault.CutEnd}, get, probeWatch, []string{"7s 200 ", "7s end"}, nil},
		"a replay":           {fault.Fault{Illegal: fault.IllegalReplay, AfterEvents: 3}, get, probeWatch, after(3, "0s ADDED m2", "1m0s end"), nil},
		"a swap":             {fault.Fault{Illegal: fault.IllegalSwap, AfterEvents: 1}, get, probeWatch, after(1, "0s ADDED m2", "0s ADDED m1", "1m0s end"), nil},
		"a 403":              {fault.Fault{Code: 403}, get, probePath, []string{"0s 403 ", "0s Status Forbidden", "0s end"}, nil},
		"a 404 of a watch":   {fault.Fault{Code: 404}, get, probeWatch, []string{"0s 404 ", "0s Status NotFound", "0s end"}, nil},
		"a 429 with a time":  {fault.Fault{Code: 429, RetryAfter: 9 * time.Second}, post, probePath, []string{"0s 429 9", "0s Status TooManyRequests", "0s end"}, nil},
		"a late 503":         {fault.Fault{Code: 503, Delay: time.Minute}, get, probePath, []string{"1m0s 503 ", "1m0s Status ServiceUnavailable", "1m0s end"}, nil},
		"a lost list":        {fault.Fault{Verb: "list", Cut: fault.CutReset}, get, probePath, []string{"0s error"}, io.EOF},
		"half a list":        {fault.Fault{Verb: "list", Cut: fault.CutFrame}, get, probePath, []string{"0s 200 ", "0s garbage", "0s error"}, io.ErrUnexpectedEOF},
		"a list that stalls": {fault.Fault{Verb: "list", Cut: fault.CutStall}, get, probePath, []string{"1h0m0s error"}, context.DeadlineExceeded},
		"a get into a black hole": {fault.Fault{Verb: "get", Cut: fault.CutBlackHole}, get, probePath + "/m0",
			[]string{"1h0m0s error"}, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *apiservertest.Server) {
				if c.fault.Client == "" {
					c.fault.Client = "probe"
				}
				s.Break(c.fault)
				got := ask(t, s, c.method, c.path, strings.NewReader("{}"))
				if !slices.Equal(got.arrived, c.want) || !errors.Is(got.err, c.err) || (got.err == nil) != (c.err == nil) {
					t.Errorf("%q, %v\nwant %q, %v", got.arrived, got.err, c.want, c.err)
				}
				// Others are served as ever.
				if _, err := s.Client().CoreV1().ConfigMaps("a").Get(t.Context(), "m0", metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAStalledWatchEndsWhenItIsDropped(t *testing.T) {
	for _, cut := range []fault.Cut{fault.CutStall, fault.CutBlackHole} {
		bubble(t, func(t *testing.T, s *apiservertest.Server) {
			s.Break(fault.Fault{Cut: cut, AfterEvents: 1})
			go func() {
				time.Sleep(10 * time.Minute)
				s.DropWatches(configMaps)
			}()
			got := ask(t, s, http.MethodGet, probeWatch, nil)
			want := map[fault.Cut]string{fault.CutStall: "10m0s error", fault.CutBlackHole: "1h0m0s error"}[cut]
			if last := got.arrived[len(got.arrived)-1]; last != want {
				t.Errorf("%s: %q, want %q", cut, last, want)
			}
		})
	}
}

func TestAWriteWhoseAnswerIsLostHasBeenDone(t *testing.T) {
	for _, cut := range []fault.Cut{fault.CutReset, fault.CutFrame, fault.CutStall, fault.CutBlackHole} {
		t.Run(string(cut), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *apiservertest.Server) {
				maps := s.Client().CoreV1().ConfigMaps("a")
				m, err := maps.Get(t.Context(), "m0", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				m.Data = map[string]string{"k": "v"}
				for _, write := range []struct {
					verb string
					do   func(context.Context) error
					// again tells the answer to doing it again.
					again func(error) bool
				}{
					{"create", func(ctx context.Context) error {
						_, err := maps.Create(ctx, configMap("new"), metav1.CreateOptions{})
						return err
					}, apierrors.IsAlreadyExists},
					{"update", func(ctx context.Context) error {
						_, err := maps.Update(ctx, m, metav1.UpdateOptions{})
						return err
					}, apierrors.IsConflict},
					{"delete", func(ctx context.Context) error { return maps.Delete(ctx, "m1", metav1.DeleteOptions{}) }, apierrors.IsNotFound},
				} {
					s.Break(fault.Fault{Verb: write.verb, Times: 1, Cut: cut})
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if err := write.do(ctx); err == nil || write.again(err) {
						t.Errorf("the first %s: %v", write.verb, err)
					}
					cancel()
					if err := write.do(t.Context()); !write.again(err) {
						t.Errorf("the second %s: %v", write.verb, err)
					}
				}
			})
		})
	}
}

func TestABlackHoleSwallowsAllConnectionsUntilItIsLifted(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		maps := s.Client().CoreV1().ConfigMaps("a")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		s.BlackHole(true)
		for range 2 { // over an old connection and over new ones
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			begin := time.Now()
			_, err = maps.Get(ctx, "m0", metav1.GetOptions{})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
			cancel()
		}
		time.Sleep(time.Minute)
		select {
		case e := <-w.ResultChan():
			t.Errorf("the watch told %v", e)
		default:
		}
		s.BlackHole(false)
		if _, err := maps.Create(t.Context(), configMap("new"), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if e := <-w.ResultChan(); e.Object == nil || e.Object.(*corev1.ConfigMap).Name != "new" {
			t.Errorf("the watch tells %v", e)
		}
	})
}
