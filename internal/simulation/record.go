package simulation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// What a line of a record is about. Only those before lineTold make a replay.
const (
	lineMirror = "mirror" // the informer: the first line
	lineTruth  = "truth"  // a point in the history of the server
	lineList   = "list"   // a page that was asked for, and the answer
	lineGet    = "get"    // an object that was asked for by its name, and the answer
	lineWatch  = "watch"  // a watch that was asked for, and the answer
	lineEvents = "events" // what the watch brought, or its end
	lineStart  = "start"  // the informer starts, and
	lineStop   = "stop"   // stops
	lineJoin   = "join"   // a handler comes, and
	lineLeave  = "leave"  // goes
	linePoison = "poison" // poisonous objects can be used no more, or again
	lineCheck  = "check"  // a moment at which all checks are made
	lineEnd    = "end"    // the moment at which all must be as the server has it
	lineTold   = "told"   // what a handler was told
	lineNote   = "note"   // what else happened
)

// Line is one line of a record: what one informer went through, in order.
type Line struct {
	Do string `json:"do"`
	// At is the time since the begin; After that since the question of the
	// informer that this is the answer to.
	At    time.Duration `json:"at"`
	After time.Duration `json:"after,omitempty"`

	Mirror  *MirrorSpec  `json:"mirror,omitempty"`
	Truth   *Point       `json:"truth,omitempty"`
	Ask     *Ask         `json:"ask,omitempty"`
	Items   []Item       `json:"items,omitempty"`
	Page    *Page        `json:"page,omitempty"`
	Events  []Event      `json:"events,omitempty"`
	On      bool         `json:"on,omitempty"` // of poison
	Error   *Error       `json:"error,omitempty"`
	Handler *HandlerSpec `json:"handler,omitempty"`
	Change  *change      `json:"change,omitempty"`
	Note    string       `json:"note,omitempty"`
	// Gaps is set on the check from which on lists may have gaps.
	Gaps bool `json:"gaps,omitempty"`
	// Epoch is that of the server when the informer was made, and at the end, as
	// Version is.
	Epoch   int    `json:"epoch,omitempty"`
	Version uint64 `json:"version,omitempty"`
}

// Ask is what matters of the options of a request.
type Ask struct {
	Version  string `json:"version,omitempty"`
	Limit    int64  `json:"limit,omitempty"`
	Continue string `json:"continue,omitempty"`
	Stream   bool   `json:"stream,omitempty"`
	Name     string `json:"name,omitempty"` // of an object
}

func askOf(opts metav1.ListOptions) *Ask {
	return &Ask{
		Version: opts.ResourceVersion, Limit: opts.Limit, Continue: opts.Continue,
		Stream: opts.SendInitialEvents != nil && *opts.SendInitialEvents,
	}
}

// Page is a reflector.Page.
type Page struct {
	Version  string `json:"version,omitempty"`
	Continue string `json:"continue,omitempty"`
}

// Item is a reflector.Item.
type Item struct {
	Key types.NamespacedName `json:"key"`
	State
	// Broken says that the object could not be decoded, Unchanged that it did not
	// have to be.
	Broken    bool `json:"broken,omitempty"`
	Unchanged bool `json:"unchanged,omitempty"`
}

// Event is a reflector.Event.
type Event struct {
	Type string               `json:"type"`
	Key  types.NamespacedName `json:"key,omitzero"`
	State
	Broken    bool `json:"broken,omitempty"`
	Unchanged bool `json:"unchanged,omitempty"`
	End       bool `json:"initialEventsEnd,omitempty"`
}

// Error is an error in a form that can be written down.
type Error struct {
	// Gone says that the informer did not wait for the answer.
	Gone bool `json:"gone,omitempty"`
	// Status is that of the server, if it sent one.
	Status *metav1.Status `json:"status,omitempty"`
	// Text is what the error says, End whether it is the clean end of a stream.
	Text string `json:"text,omitempty"`
	End  bool   `json:"end,omitempty"`
	// Decode says that the answer could not be read, None that there is no such
	// object.
	Decode bool `json:"decode,omitempty"`
	None   bool `json:"none,omitempty"`
}

func errorOf(ctx context.Context, err error) *Error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || errors.Is(err, reflector.ErrStopped):
		return &Error{Gone: true, Text: err.Error()}
	case errors.As(err, &status):
		s := status.Status()
		return &Error{Status: &s, Text: err.Error()}
	}
	return &Error{
		Text: err.Error(), End: errors.Is(err, io.EOF),
		Decode: errors.Is(err, reflector.ErrDecode), None: errors.Is(err, reflector.ErrNoObject),
	}
}

// err makes an error again, of the same class.
func (e *Error) err() error {
	switch {
	case e == nil:
		return nil
	case e.Status != nil:
		return &apierrors.StatusError{ErrStatus: *e.Status}
	case e.End:
		return io.EOF
	case e.None:
		return fmt.Errorf("%w: %s", reflector.ErrNoObject, e.Text)
	case e.Decode:
		return fmt.Errorf("%w: %s", reflector.ErrDecode, e.Text)
	}
	return fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, e.Text)
}

// Record is all that one informer went through.
type Record struct {
	began time.Time

	mu    sync.Mutex
	lines []Line
}

func newRecord(spec MirrorSpec, epoch int) *Record {
	r := &Record{began: time.Now()}
	r.add(Line{Do: lineMirror, Mirror: &spec, Epoch: epoch})
	return r
}

func (r *Record) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.At = time.Since(r.began)
	r.lines = append(r.lines, l)
}

func (r *Record) note(format string, args ...any) {
	r.add(Line{Do: lineNote, Note: fmt.Sprintf(format, args...)})
}

// with returns the lines with a history of the server behind the first.
func (r *Record) with(truth *Truth) []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]Line(nil), r.lines[:1]...)
	for _, p := range truth.all() {
		out = append(out, Line{Do: lineTruth, Truth: &p})
	}
	return append(out, r.lines[1:]...)
}

// WriteRecord writes lines as JSON.
func WriteRecord(w io.Writer, lines []Line) error {
	encoder := json.NewEncoder(w)
	for i := range lines {
		if err := encoder.Encode(&lines[i]); err != nil {
			return fmt.Errorf("line %d of a record: %w", i+1, err)
		}
	}
	return nil
}

// ReadRecord reads what WriteRecord has written.
func ReadRecord(r io.Reader) ([]Line, error) {
	var lines []Line
	decoder := json.NewDecoder(bufio.NewReader(r))
	decoder.DisallowUnknownFields()
	for {
		var l Line
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of a record: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[0].Mirror == nil {
		return nil, errors.New("a record begins with the informer it is about")
	}
	return lines, nil
}

// recorded is a source that writes down what is asked, and what comes.
type recorded[T reflector.Object] struct {
	reflector.Source[T]
	record *Record
	gaps   *gaps
}

// List reads a page and writes it down.
func (s recorded[T]) List(ctx context.Context, opts metav1.ListOptions, each func(reflector.Item[T]) error) (reflector.Page, error) {
	began := time.Now()
	l := Line{Do: lineList, Ask: askOf(opts)}
	page, err := s.Source.List(ctx, opts, func(it reflector.Item[T]) error {
		l.Items = append(l.Items, itemOf(&it))
		return each(it)
	})
	l.After, l.Error = time.Since(began), errorOf(ctx, err)
	if err == nil {
		l.Page = &Page{page.Version, page.Continue}
	}
	if err == nil && page.Continue == "" {
		s.gaps.listed()
	}
	s.record.add(l)
	return page, err
}

// Get reads an object by its name and writes it down.
func (s recorded[T]) Get(ctx context.Context, key types.NamespacedName) (reflector.Item[T], error) {
	getter, ok := s.Source.(reflector.Getter[T])
	if !ok {
		return reflector.Item[T]{}, errors.ErrUnsupported
	}
	began := time.Now()
	it, err := getter.Get(ctx, key)
	l := Line{Do: lineGet, Ask: &Ask{Name: key.String()}, After: time.Since(began), Error: errorOf(ctx, err)}
	if err == nil || errors.Is(err, reflector.ErrNoObject) {
		l.Items = []Item{itemOf(&it)}
	}
	s.record.add(l)
	return it, err
}

// Skipping returns a source that need not decode what is held.
func (s recorded[T]) Skipping(held func(types.NamespacedName) (types.UID, string, bool)) reflector.Source[T] {
	if skipper, ok := s.Source.(reflector.Skipper[T]); ok {
		s.Source = skipper.Skipping(held)
	}
	return s
}

// Watch opens a watch and writes it down.
func (s recorded[T]) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[T], error) {
	began := time.Now()
	stream, err := s.Source.Watch(ctx, opts)
	s.record.add(Line{Do: lineWatch, Ask: askOf(opts), After: time.Since(began), Error: errorOf(ctx, err)})
	if err != nil {
		return nil, err
	}
	out := &recordedStream[T]{Stream: stream, ctx: ctx, record: s.record, gaps: s.gaps}
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		out.seen = make(map[types.NamespacedName]uint64)
	}
	return out, nil
}

type recordedStream[T reflector.Object] struct {
	reflector.Stream[T]
	ctx    context.Context
	record *Record
	gaps   *gaps
	// seen is what a streaming list has brought; nil after its end, or if it is
	// none.
	seen map[types.NamespacedName]uint64
}

// Next reads events and writes them down.
func (s *recordedStream[T]) Next() ([]reflector.Event[T], error) {
	began := time.Now()
	events, err := s.Stream.Next()
	l := Line{Do: lineEvents, After: time.Since(began), Error: errorOf(s.ctx, err)}
	for i := range events {
		l.Events = append(l.Events, eventOf(&events[i]))
		s.see(&l.Events[i])
	}
	s.record.add(l)
	return events, err
}

// see follows a streaming list up to its end.
func (s *recordedStream[T]) see(e *Event) {
	switch {
	case s.seen == nil:
	case e.End:
		s.gaps.streamed(e.Version, s.seen)
		s.seen = nil
	case e.Type == deltafifo.Deleted.String():
		delete(s.seen, e.Key)
	case e.Type != bookmark:
		s.seen[e.Key] = max(s.seen[e.Key], e.Version)
	}
}

func eventOf[T reflector.Object](e *reflector.Event[T]) Event {
	out := Event{Type: e.Type.String(), Key: e.Key, End: e.InitialEventsEnd}
	if out.Type == bookmark {
		out.Version, _ = strconv.ParseUint(e.Version, 10, 64)
		return out
	}
	it := itemOf(&e.Item)
	out.State, out.Broken, out.Unchanged = it.State, it.Broken, it.Unchanged
	return out
}

// itemOf is the part of an item that is written down.
func itemOf[T reflector.Object](it *reflector.Item[T]) Item {
	var none T
	if it.Err != nil || any(it.Object) == any(none) {
		out := Item{Key: it.Key, State: State{UID: it.UID}, Broken: it.Err != nil, Unchanged: it.Unchanged}
		out.Version, _ = strconv.ParseUint(it.Version, 10, 64)
		return out
	}
	return Item{Key: it.Key, State: stateOf(it.Object)}
}
