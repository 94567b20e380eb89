// Package rawread reads collections from an API server without decoding them, so
// that a measurement of the server is not one of its client. Objects are counted
// by a text that each of them holds exactly once.
package rawread

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// chunk is how much of a stream is read at once.
const chunk = 64 << 10

// Count is what has been read.
type Count struct {
	Objects, Bytes int
}

// Reader reads a collection. Its methods may be called by several goroutines.
type Reader struct {
	// Client sends the requests.
	Client *http.Client
	// URL is that of the collection, without parameters.
	URL string
	// Media is the format to ask for: runtime.ContentTypeJSON or
	// runtime.ContentTypeProtobuf.
	Media string
	// Mark is the text that each object holds exactly once.
	Mark string
}

// List reads one answer to its end.
func (r Reader) List(ctx context.Context, query url.Values) (Count, error) {
	body, err := r.open(ctx, query)
	if err != nil {
		return Count{}, err
	}
	defer body.Close()
	c := counter{marks: []string{r.Mark}}
	if err := c.read(body, nil); err != io.EOF {
		return Count{}, fmt.Errorf("list %s: %w", r.URL, err)
	}
	return Count{c.found[0], c.bytes}, nil
}

// Pages reads the collection page by page.
func (r Reader) Pages(ctx context.Context, limit int) (Count, error) {
	var total Count
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	var page bytes.Buffer
	for {
		body, err := r.open(ctx, query)
		if err != nil {
			return total, err
		}
		page.Reset()
		_, err = page.ReadFrom(body)
		body.Close()
		if err != nil {
			return total, fmt.Errorf("list %s: %w", r.URL, err)
		}
		total.Objects += bytes.Count(page.Bytes(), []byte(r.Mark))
		total.Bytes += page.Len()
		meta, err := listMeta(page.Bytes(), r.Media)
		if err != nil {
			return total, fmt.Errorf("list %s: %w", r.URL, err)
		}
		if meta.Continue == "" {
			return total, nil
		}
		query.Set("continue", meta.Continue)
	}
}

// Initial reads a streaming list up to the bookmark that ends the initial events.
func (r Reader) Initial(ctx context.Context) (Count, error) {
	w, err := r.Watch(ctx, url.Values{
		"sendInitialEvents": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersionMatch": {"NotOlderThan"},
	})
	if err != nil {
		return Count{}, err
	}
	defer w.Close()
	return w.read(metav1.InitialEventsAnnotationKey, 1)
}

// Watch opens a watch, which the caller must close.
func (r Reader) Watch(ctx context.Context, query url.Values) (*Watch, error) {
	query.Set("watch", "1")
	body, err := r.open(ctx, query)
	if err != nil {
		return nil, err
	}
	return &Watch{body: body, mark: r.Mark}, nil
}

// Watch is an open watch. One goroutine at a time may use it.
type Watch struct {
	body io.ReadCloser
	mark string
}

// Events reads until at least n events have come.
func (w *Watch) Events(n int) (Count, error) { return w.read(w.mark, n) }

// Close ends the watch.
func (w *Watch) Close() error { return w.body.Close() }

// read reads until a text has come n times.
func (w *Watch) read(until string, n int) (Count, error) {
	c := counter{marks: []string{w.mark, until}}
	if err := c.read(w.body, func() bool { return c.found[1] >= n }); err != nil {
		return Count{}, fmt.Errorf("watch, after %d events: %w", c.found[0], err)
	}
	return Count{c.found[0], c.bytes}, nil
}

func (r Reader) open(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", r.Media)
	resp, err := r.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		// Whatever can be read of the reason makes the error better.
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("%s: %s: %q", req.URL, resp.Status, reason)
	}
	return resp.Body, nil
}

// counter counts texts in a stream.
type counter struct {
	marks []string
	found []int
	bytes int
}

// read reads until done says so, or until an error, io.EOF included.
func (c *counter) read(from io.Reader, done func() bool) error {
	longest := 0
	for _, m := range c.marks {
		longest = max(longest, len(m))
	}
	c.found = make([]int, len(c.marks))
	// The end of what was read stays in front of what comes, because a text
	// may lie across the border.
	buf := make([]byte, longest+chunk)
	kept := 0
	for {
		n, err := from.Read(buf[kept:])
		c.bytes += n
		seen := buf[:kept+n]
		for i, m := range c.marks {
			// What fits into the part that was kept has been counted.
			first := max(0, kept-len(m)+1)
			c.found[i] += bytes.Count(seen[first:], []byte(m))
		}
		if done != nil && done() {
			return nil
		}
		if err != nil {
			return err
		}
		kept = copy(buf, seen[max(0, len(seen)-longest):])
	}
}

// listMeta reads the metadata of an encoded list.
func listMeta(data []byte, media string) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	if media != runtime.ContentTypeProtobuf {
		// It comes before the items on every server; the decoder reads no more.
		return jsonListMeta(data)
	}
	var outer runtime.Unknown
	if len(data) < 4 {
		return meta, fmt.Errorf("%d bytes are no protobuf", len(data))
	}
	if err := outer.Unmarshal(data[4:]); err != nil {
		return meta, err
	}
	// The first field of every list is its metadata.
	if len(outer.Raw) == 0 || outer.Raw[0] != 1<<3|2 {
		return meta, fmt.Errorf("a list without metadata")
	}
	size, n := binary.Uvarint(outer.Raw[1:])
	if n <= 0 || size > uint64(len(outer.Raw)-1-n) {
		return meta, fmt.Errorf("a list that is cut off")
	}
	err := meta.Unmarshal(outer.Raw[1+n : 1+n+int(size)])
	return meta, err
}

func jsonListMeta(data []byte) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return meta, err
	}
	for {
		key, err := decoder.Token()
		if err != nil {
			return meta, err
		}
		if key == "metadata" {
			return meta, decoder.Decode(&meta)
		}
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			return meta, err
		}
	}
}
