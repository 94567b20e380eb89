package simulation

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"heliograph.example/reflector"
)

// Some objects are poisonous: as long as an informer is poisoned it cannot use
// them. They have an entry of data that is spoiled on its way, or that the transform
// does not like.
const (
	poisonKey, poisonValue = "~~", "ok"
	// poisonSuffix is at the end of the number of a write that makes an object
	// poisonous.
	poisonSuffix = "!"
)

func (s State) poisonous() bool { return strings.HasSuffix(s.Write, poisonSuffix) }

var errPoison = errors.New("this object is poisonous")

// eat is what a transform does with a poisonous object: it fails in each of the
// ways that there are.
func eat[T reflector.Object](s State) (T, error) {
	var none T
	switch s.Version % 3 {
	case 0:
		panic("this object is poisonous")
	case 1:
		return none, nil
	}
	return none, errPoison
}

// spoiler spoils poisonous objects in what a server answers, while it is on. Only
// they cannot be decoded then: the answer is as long as before, and can be split.
type spoiler struct {
	http.RoundTripper
	on *atomic.Bool
}

// RoundTrip spoils the answer.
func (s spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &spoiled{ReadCloser: answer.Body, on: s.on}
	}
	return answer, err
}

type spoiled struct {
	io.ReadCloser
	on *atomic.Bool
	// tail is the end of what was read.
	tail []byte
}

// longestMark is no shorter than any mark.
const longestMark = 16

// spoils are what a poisonous object is known by in protobuf and in JSON, and what
// the last byte of that becomes: a length beyond the end, and a character that a
// string may not have.
var spoils = [...]struct {
	mark string
	last byte
}{
	{poisonKey + "\x12\x02", 0x7f},
	{`"` + poisonKey + `":"` + poisonValue, 0x01},
}

// Read reads, and spoils what it has read.
func (s *spoiled) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	for i := range p[:n] {
		s.tail = append(s.tail[max(0, len(s.tail)-longestMark):], p[i])
		for _, spoil := range spoils {
			if s.on.Load() && bytes.HasSuffix(s.tail, []byte(spoil.mark)) {
				p[i] = spoil.last
			}
		}
	}
	return n, err
}
