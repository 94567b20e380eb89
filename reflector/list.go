package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxRestarts bounds the lists in pages that expire before their end. A
	// list that takes longer than the server keeps versions will not get
	// through in pages; asked for in one page it cannot expire.
	maxRestarts = 3
	// maxEmpty bounds the pages in a row that bring nothing and promise more.
	maxEmpty = 16
)

// errLaterPage marks an error of a page after the first.
var errLaterPage = errors.New("after the first page")

// list reads the newest state in pages and publishes it. Nothing of a list that
// breaks off is pushed.
func (r *Reflector[T]) list(ctx context.Context) transition {
	d, err := r.compare(ctx)
	if err != nil {
		return r.refused(err)
	}
	r.beginReport(false)
	version, err := r.pages(ctx, d)
	if err != nil {
		r.endReport(ctx, err)
		return r.listFailed(err)
	}
	if t, back := r.unfit(ctx, version, version); back {
		return t
	}
	if err := r.publish(ctx, d, version); err != nil {
		return r.refused(err)
	}
	return r.toWatch("listed", d)
}

// listFailed says where a list that broke off leads.
func (r *Reflector[T]) listFailed(err error) transition {
	if refusal := (*SinkError)(nil); errors.As(err, &refusal) {
		return r.refused(err)
	}
	err = denied("list", err)
	// The status of an expired list offers a token to go on with what is there
	// now. That would mix two states; a fresh list does not.
	if classify(err) == ClassExpired && errors.Is(err, errLaterPage) {
		r.restarts++
		return r.failed(Listing, "the list expired before its end", err)
	}
	t := r.failed(Listing, "the list failed", err)
	t.restart = true
	if apierrors.IsForbidden(err) && r.ladder.bar() {
		t.retry = Starting
	}
	return t
}

// pages reads all pages of one list and returns its version.
func (r *Reflector[T]) pages(ctx context.Context, d *diff[T]) (version string, err error) {
	// Without a version the server must give the newest state. Any other
	// could be older than what was pushed before.
	opts := metav1.ListOptions{Limit: r.opts.PageSize}
	r.demand(&opts)
	if r.restarts >= maxRestarts {
		opts.Limit = 0
	}
	source, empty := r.sparing(d), 0
	for {
		before := d.len() + d.nameless
		r.report.Pages++
		page, err := r.page(ctx, source, opts, func(it *Item[T]) { r.collect(ctx, d, it) })
		r.report.Objects = d.len()
		if err != nil && opts.Continue != "" {
			err = fmt.Errorf("%w: %w", errLaterPage, err)
		}
		if err != nil {
			return "", err
		}
		if opts.Continue == "" {
			version = page.Version
			d.at(version)
		}
		if err := r.relieve(ctx, d); err != nil {
			return "", err
		}
		if page.Continue == "" {
			return version, nil
		}
		if empty++; d.len()+d.nameless > before {
			empty = 0
		}
		if page.Continue == opts.Continue {
			return "", errSamePage
		}
		if empty > maxEmpty {
			return "", errEmptyPages
		}
		opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
	}
}

// page reads one page of source, and gives up if the server does not deliver. The
// item that each is given is used again for the next.
func (r *Reflector[T]) page(ctx context.Context, source Source[T], opts metav1.ListOptions, each func(*Item[T])) (Page, error) {
	r.update(func(s *Status) { s.Pages++ })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var patience watchdog
	patience.watch(pageTimeout, func() { cancel(errPage) })
	defer patience.rest()
	began, waiting := time.Now(), true
	reading, asked := r.traced(ctx, patience.touch)
	var it Item[T] // one for all: each takes what it needs
	page, err := source.List(reading, opts, func(next Item[T]) error {
		if waiting {
			r.waited(began)
			waiting = false
		}
		patience.touch()
		r.received(1)
		it = next
		each(&it)
		return ctx.Err()
	})
	if waiting {
		r.waited(began)
	}
	if err == nil {
		r.hear()
	}
	if err != nil && errors.Is(context.Cause(ctx), errPage) {
		err = errPage
	}
	return page, asked.in(err)
}
