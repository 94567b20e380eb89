package apiserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

const (
	// loadWrites is the number of writes, one right after the other.
	loadWrites = 200
	// loadPatience is how long a watcher may take for what it should be told;
	// it is there to end a test that fails.
	loadPatience = 4 * time.Minute
)

// The names of tests that are run a second time without the race detector, with
// more of everything, end in WithoutRace: see the Makefile.
func TestManyWatchersAreToldEveryWriteWithoutRace(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), loadPatience)
	defer cancel()
	s := apiservertest.Start(t, apiserver.Options{})
	maps := s.Client().CoreV1().ConfigMaps("a")
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watchers := make([]*loadWatcher, loadWatchers)
	var opened, told, ended sync.WaitGroup
	for i := range watchers {
		w := &loadWatcher{opened: sync.OnceFunc(opened.Done), told: sync.OnceFunc(told.Done)}
		watchers[i] = w
		opened.Add(1)
		told.Add(1)
		ended.Go(func() { w.err = w.run(ctx, s, list.ResourceVersion) })
	}
	opened.Wait()
	for i := range loadWrites {
		if _, err := maps.Create(ctx, configMap(loadName(i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	told.Wait()
	early := 0
	for _, w := range watchers {
		if w.ended.Load() {
			early++
		}
	}
	if early > 0 {
		t.Errorf("%d of %d watches have ended", early, len(watchers))
	}
	s.Stop()
	ended.Wait()
	for i, w := range watchers {
		if w.err != nil {
			t.Fatalf("watcher %d, and perhaps others: %v", i, w.err)
		}
	}
}

func loadName(i int) string { return fmt.Sprintf("m%03d", i) }

// loadMarks are what tells the writes apart in frames.
var loadMarks = func() (marks [loadWrites][]byte) {
	for i := range marks {
		marks[i] = fmt.Appendf(nil, "%q:%q", "name", loadName(i))
	}
	return marks
}()

// loadWatcher is a client that watches over a connection of its own. It looks at
// frames without decoding them, because a real client costs far more than the
// server that is being tested.
type loadWatcher struct {
	// opened is called when the watch is open and told when it has been told
	// everything; both when it has ended, too.
	opened, told func()
	ended        atomic.Bool
	err          error
}

// run watches until the server ends the stream, which is to be after every
// write has been told, once and in order, and nothing else.
func (w *loadWatcher) run(ctx context.Context, s *apiservertest.Server, version string) error {
	defer w.told()
	defer w.opened()
	defer w.ended.Store(true)
	conn, err := s.Dial(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET /api/v1/namespaces/a/configmaps?watch=true&resourceVersion=%s HTTP/1.1\r\nHost: %s\r\n\r\n",
		version, s.Addr()); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	w.opened()
	frames := bufio.NewReader(resp.Body)
	for i := 0; ; i++ {
		frame, err := frames.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(frame) == 0 && i == loadWrites:
			return nil
		case err != nil:
			return fmt.Errorf("after %d events: %w", i, err)
		}
		if i >= loadWrites || !bytes.HasPrefix(frame, []byte(`{"type":"ADDED",`)) || !bytes.Contains(frame, loadMarks[i]) {
			return fmt.Errorf("event %d is %s", i, frame)
		}
		if i == loadWrites-1 {
			w.told()
		}
	}
}
