package reflector

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// slowList is the time after which a list is slow enough for a line in the log.
// client-go has the same.
const slowList = 10 * time.Second

// ListReport tells how a whole state was read.
type ListReport struct {
	// Streamed tells a streaming list from one in pages.
	Streamed bool
	// Began is when it was asked for, and Took how long it was until the sink
	// had it. Waited is the part of that in which nothing was there to work
	// on: until the first object of each page, and until the next events of a
	// stream. For a source that decodes a page as a whole, decoding is waiting.
	Began        time.Time
	Took, Waited time.Duration
	// Pages, Objects and Bytes are what came; a streaming list has no pages,
	// and Bytes is 0 where the source does not tell (see SourceTrace).
	Pages, Objects int
	Bytes          uint64
	// Skipped is the number of these objects that were not decoded, or not taken
	// out of a client's list, because the sink held the same UID and version. It is 0 where the source is no Skipper.
	Skipped int
	// Changes is the number of changes that led there from what the sink held,
	// and Parts how often some of them were pushed before the state was complete,
	// because they were more than Options.RelistBudget.
	Changes, Parts int
}

// progress counts what comes from the server. Any goroutine may write it.
type progress struct {
	bytes, objects atomic.Uint64
	// heard is the time of the last proof of life, in nanoseconds of Unix.
	heard atomic.Int64
}

// fill copies the counts into a status.
func (p *progress) fill(s *Status) {
	s.Bytes, s.Received = p.bytes.Load(), p.objects.Load()
	if heard := p.heard.Load(); heard != 0 {
		s.LastHeard = time.Unix(0, heard)
	}
}

// hear notes a proof of life.
func (r *Reflector[T]) hear() { r.progress.heard.Store(time.Now().UnixNano()) }

// received notes that n objects have come.
func (r *Reflector[T]) received(n int) {
	r.progress.objects.Add(uint64(n))
	r.hear()
}

// traced returns a context in which the source tells of the bytes it reads; each
// time, read is called. asked has what the server has asked for beside its answer.
func (r *Reflector[T]) traced(ctx context.Context, read func()) (traced context.Context, asked *heard) {
	asked = &heard{}
	return WithSourceTrace(ctx, &SourceTrace{RetryAfter: asked.tell, Read: func(n int) {
		r.progress.bytes.Add(uint64(n))
		r.hear()
		read()
	}}), asked
}

// report is what is noted of a list while it is read. bytesBefore are the bytes
// that had come before it.
type report struct {
	ListReport
	bytesBefore uint64
}

// beginReport begins the report of a list.
func (r *Reflector[T]) beginReport(streamed bool) {
	r.report = &report{ListReport{Streamed: streamed, Began: time.Now()}, r.progress.bytes.Load()}
}

// endReport completes the report. A slow list is told in the log, whether it was
// read to its end or broke off with err.
func (r *Reflector[T]) endReport(ctx context.Context, err error) {
	report := r.report
	report.Took = time.Since(report.Began)
	report.Bytes = r.progress.bytes.Load() - report.bytesBefore
	if report.Took < slowList || ctx.Err() != nil {
		return
	}
	klog.FromContext(ctx).Info("A list was slow", "resource", r.opts.Name, "streamed", report.Streamed,
		"took", report.Took, "waited", report.Waited, "worked", report.Took-report.Waited,
		"pages", report.Pages, "objects", report.Objects, "skipped", report.Skipped, "bytes", report.Bytes, "changes", report.Changes, "parts", report.Parts,
		"version", r.version, "err", err)
}

// waited adds the time since began to what the list in hand has waited. A page that
// is read beside a watch, as a proof, is of no list.
func (r *Reflector[T]) waited(began time.Time) {
	if r.report != nil {
		r.report.Waited += time.Since(began)
	}
}
