package main

import (
	"fmt"
	"strings"
	"testing"
)

// answer is what a watcher gets: the header and the events, in two chunks that are
// cut somewhere.
func answer(events ...string) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	body := strings.Join(events, "\n") + "\n"
	for _, chunk := range []string{body[:len(body)/3], body[len(body)/3:]} {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(chunk), chunk)
	}
	return b.String()
}

func added(i int) string {
	return fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"name":%q}}}`, crowdName(i))
}

func TestAWatcherOfTheCrowdCountsEventsAndRefusesWrongOnes(t *testing.T) {
	for _, c := range []struct{ name, answer, err string }{
		{"events in order", answer(added(0), added(1)), ""},
		{"a bookmark between them", answer(added(0), `{"type":"BOOKMARK","object":{}}`, added(1)), ""},
		{"an event twice", answer(added(0), added(0)), "after 1: the next is"},
		{"an event that is left out", answer(added(1)), "after 0: the next is"},
		{"an ERROR event", answer(added(0), `{"type":"ERROR","object":{"code":410}}`), "after 1: the next is"},
		{"an end", answer(added(0)) + "0\r\n\r\n", "after 1: the watch was ended"},
		{"a refusal", "HTTP/1.1 429 Too Many Requests\r\n\r\n", "after 0: the answer is"},
	} {
		// However it is cut.
		for size := range len(c.answer) {
			crowd := newCrowd(1)
			w := &crowd.watchers[0]
			var err error
			for data := []byte(c.answer); len(data) > 0 && err == nil; {
				part := data[:min(size+1, len(data))]
				data = data[len(part):]
				err = crowd.take(w, part)
			}
			got := ""
			if err != nil {
				got = fmt.Sprintf("after %d: %v", w.told, err)
			} else if w.told != 2 {
				got = fmt.Sprintf("after %d events all is well", w.told)
			}
			if !strings.HasPrefix(got, c.err) || c.err == "" && got != "" {
				t.Errorf("%s, in parts of %d: %q, want %q", c.name, size+1, got, c.err)
			}
		}
	}
}

func TestACrowdIsToldWhenAllHaveEverything(t *testing.T) {
	crowd := newCrowd(2)
	var all []string
	for i := range watcherWrites {
		all = append(all, added(i))
	}
	isClosed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for i := range crowd.watchers {
		if isClosed(crowd.opened) || isClosed(crowd.told) {
			t.Fatalf("%d watchers of 2 are taken for all", i)
		}
		if err := crowd.take(&crowd.watchers[i], []byte(answer(all...))); err != nil {
			t.Fatal(err)
		}
	}
	if !isClosed(crowd.opened) || !isClosed(crowd.told) {
		t.Error("2 watchers of 2 are not all")
	}
}
