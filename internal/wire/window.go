package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// listWindow and watchWindow are the sizes at which a window begins. A
	// watch is idle most of its life, and then has its window for bookmarks.
	listWindow  = 32 << 10
	watchWindow = 512
	// busyWindow is how large a window gets once one read has filled it with more
	// than whole objects.
	busyWindow = 4 << 10
	// usualWindow is how large a window gets while the bytes come faster than
	// they are used. Only an object that is larger makes it grow more.
	usualWindow = 64 << 10
	// maxEmptyReads bounds the reads in a row that bring nothing and no error.
	maxEmptyReads = 100
)

// window is a view of a part of a stream. What stands before lo is gone.
type window struct {
	r io.Reader
	// buf[lo:hi] is what was read and not used yet; off is the offset of lo.
	buf    []byte
	lo, hi int
	off    int64
	// small is the size at which the window begins and to which it returns.
	small int
	// dry forbids to read: need then returns ErrNotReady.
	dry bool
	// err is what the reader said last.
	err error
}

// have returns what is at hand.
func (w *window) have() []byte { return w.buf[w.lo:w.hi] }

// need reads until n bytes are at hand. It fails with io.EOF only if there are
// none at all.
func (w *window) need(n int) error {
	for empty := 0; w.hi-w.lo < n; {
		if w.dry {
			return ErrNotReady
		}
		if w.err != nil {
			return w.ended()
		}
		w.room(n)
		k, err := w.r.Read(w.buf[w.hi:])
		w.hi += k
		w.err = err
		if empty++; k > 0 {
			empty = 0
		}
		if empty > maxEmptyReads {
			w.err = io.ErrNoProgress
		}
	}
	return nil
}

// ended is what need says when the reader has ended.
func (w *window) ended() error {
	if w.err == io.EOF && w.lo == w.hi {
		return io.EOF
	}
	return w.cut(w.err)
}

// cut says that a body ended before its end.
func (w *window) cut(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("wire: after byte %d: %w", w.off+int64(w.hi-w.lo), err)
}

// inside turns the end of the body, in the middle of something, into an error.
func (w *window) inside(err error) error {
	if err == io.EOF {
		return w.cut(err)
	}
	return err
}

// room makes room for another read, which is to bring n bytes in all. The window
// grows only when it is full, so it is never twice as large as what has come.
func (w *window) room(n int) {
	if w.lo == w.hi {
		full := w.hi == len(w.buf)
		w.lo, w.hi = 0, 0
		switch {
		case len(w.buf) == 0, len(w.buf) > usualWindow:
			w.buf = make([]byte, w.small)
		case full && len(w.buf) < usualWindow:
			w.buf = make([]byte, 2*len(w.buf))
		}
		return
	}
	if w.hi < len(w.buf) {
		return
	}
	to := w.buf
	switch {
	case w.lo == 0 || n > len(w.buf) || len(w.buf) < busyWindow:
		to = make([]byte, 2*len(w.buf))
	case len(w.buf) > usualWindow && n <= usualWindow/2:
		to = make([]byte, usualWindow) // a giant has passed
	}
	w.hi = copy(to, w.have())
	w.lo, w.buf = 0, to
}

// trim makes an empty window small.
func (w *window) trim() {
	if w.lo == w.hi && len(w.buf) > w.small {
		w.buf, w.lo, w.hi = nil, 0, 0
	}
}

// advance leaves n bytes behind.
func (w *window) advance(n int) {
	w.lo += n
	w.off += int64(n)
}

// take returns the next n bytes and leaves them behind.
func (w *window) take(n int) ([]byte, error) {
	if err := w.need(n); err != nil {
		return nil, err
	}
	b := w.buf[w.lo : w.lo+n : w.lo+n]
	w.advance(n)
	return b, nil
}

// skip leaves n bytes behind, whether or not they were read.
func (w *window) skip(n int64) error {
	for n > 0 {
		if err := w.need(1); err != nil {
			return err
		}
		k := int(min(n, int64(w.hi-w.lo)))
		w.advance(k)
		n -= int64(k)
	}
	return nil
}

// head returns a copy of the beginning of the next n bytes and leaves all of
// them behind.
func (w *window) head(n int64) ([]byte, error) {
	b, err := w.take(int(min(n, beginning)))
	if err != nil {
		return nil, err
	}
	b = bytes.Clone(b)
	return b, w.skip(n - int64(len(b)))
}
