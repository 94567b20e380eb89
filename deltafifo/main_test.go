package deltafifo

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newQueue(t testing.TB, opts Options) *DeltaFIFO[string] {
	t.Helper()
	q, err := New[string](opts)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func push(t testing.TB, q *DeltaFIFO[string], text string) {
	t.Helper()
	if err := q.Push(parse(t, text)); err != nil {
		t.Fatalf("push %q: %v", text, err)
	}
}

// pop returns the next batch as text. The caller knows that one is at hand.
func pop(t testing.TB, q *DeltaFIFO[string]) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if q.Len() == 0 {
		cancel()
	}
	batch, err := q.Pop(ctx)
	if err != nil {
		t.Fatalf("pop: %v", err)
	}
	return format(batch)
}

var letters = map[string]Type{"A": Added, "U": Updated, "D": Deleted, "R": Replaced, "B": Bookmark}

// parse makes deltas from a text such as "A web/u1@5 B@6 R@7[D web/u1 A job/u2]".
// The object of a delta is its version.
func parse(t testing.TB, text string) []Delta[string] {
	t.Helper()
	var deltas []Delta[string]
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		var word string
		if word, text = cut(text); word[0] != 'R' && word[0] != 'B' {
			var rest string
			rest, text = cut(strings.TrimSpace(text))
			word += " " + rest
		}
		head, items, _ := strings.Cut(word, "[")
		letter, name, _ := strings.Cut(head, " ")
		if name == "" {
			letter, name = head[:1], head[1:]
		}
		name, version, _ := strings.Cut(name, "@")
		name, uid, _ := strings.Cut(name, "/")
		d := Delta[string]{Type: letters[letter], Key: types.NamespacedName{Name: name}, UID: types.UID(uid), Version: version}
		if d.Type == Replaced {
			d.Items = parse(t, strings.TrimSuffix(items, "]"))
		} else if d.Type != Bookmark {
			d.Object = version
		}
		deltas = append(deltas, d)
	}
	return deltas
}

// cut splits off the first word; a bracket is part of its word.
func cut(text string) (word, rest string) {
	depth := 0
	for i, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ' ' && depth == 0:
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// format is the inverse of parse.
func format(deltas []Delta[string]) string {
	var words []string
	for _, d := range deltas {
		word := d.Type.String()[:1]
		if d.Key.Name != "" {
			word += " " + d.Key.Name
		}
		if d.UID != "" {
			word += "/" + string(d.UID)
		}
		if d.Version != "" {
			word += "@" + d.Version
		}
		if d.Key.Name != "" && d.Object != d.Version {
			word += fmt.Sprintf("(object %s)", d.Object)
		}
		if d.Items != nil {
			word += "[" + format(d.Items) + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
