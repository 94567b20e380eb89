package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"heliograph.example/internal/wire"
)

// reading is a list that is being read.
type reading[T Object] struct {
	source *restSource[T]
	each   func(Item[T]) error
	list   *wire.List
	decode decode[T]
	// looked tells that the kind of the list was looked at, and refusal is
	// what that means for each item.
	looked  bool
	refusal error
	// waiting are items that lack a kind, and all after them, while that of
	// the list is not known.
	waiting []Item[T]
}

// read makes a request for a list and gives its items to each while they come.
func (s *restSource[T]) read(ctx context.Context, request *rest.Request, each func(Item[T]) error) (Page, error) {
	if s.codec.acceptList != "" {
		request.SetHeader("Accept", s.codec.acceptList)
	}
	body, err := openBody(ctx, request)
	if err != nil {
		return Page{}, err
	}
	defer body.close()
	r := &reading[T]{source: s, each: each, list: wire.NewList(body)}
	for {
		raw, err := r.list.Next()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return Page{}, s.failed(ctx, err)
		}
		if err := r.take(raw); err != nil {
			return Page{}, err
		}
	}
}

// take gives an item away, or keeps it for later.
func (r *reading[T]) take(raw wire.Item) (err error) {
	s, encoding := r.source, r.list.Encoding()
	if r.decode == nil {
		if r.decode, err = s.codec.decoders.of(encoding); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	kind := r.list.Kind()
	known := kind.Kind != "" && kind.Version != ""
	if known && !r.looked {
		if err := r.look(kind); err != nil {
			return err
		}
	}
	it, unchanged := skipped[T](s.skip, encoding, raw, r.refusal)
	if !unchanged {
		it = s.item(encoding, r.decode, raw, StageType, r.refusal)
	}
	if it.Err == nil && !unchanged && s.codec.nameless != nil && s.codec.nameless(it.Object) {
		if !known {
			r.waiting = append(r.waiting, it)
			return nil
		}
		s.codec.named(it.Object, kind)
	}
	if len(r.waiting) > 0 {
		r.waiting = append(r.waiting, it)
		return nil
	}
	return r.each(it)
}

// look looks at the kind of the list.
func (r *reading[T]) look(kind schema.GroupVersionKind) error {
	r.looked = true
	var all error
	if r.refusal, all = r.source.codec.list(kind, r.list.Encoding()); all != nil {
		return r.wrong(all)
	}
	return nil
}

// wrong is the error of the whole list.
func (r *reading[T]) wrong(err error) error {
	return fmt.Errorf("%s: %w: %w", r.source.name, ErrDecode, err)
}

// end reads what a list has beside its items.
func (r *reading[T]) end() (Page, error) {
	kind, encoding := r.list.Kind(), r.list.Encoding()
	if !r.list.HasItems() {
		if kind.Kind == "Status" {
			return Page{}, r.status()
		}
		if !strings.HasSuffix(kind.Kind, "List") {
			return Page{}, r.wrong(fmt.Errorf("the server sent %v, not a list", kind))
		}
	}
	if !r.looked {
		if err := r.look(kind); err != nil {
			return Page{}, err
		}
		if r.refusal != nil {
			// Its items are away already.
			return Page{}, r.wrong(r.refusal)
		}
	}
	for _, it := range r.waiting {
		if it.Err == nil && !it.Unchanged && r.source.codec.nameless(it.Object) {
			r.source.codec.named(it.Object, kind)
		}
		if err := r.each(it); err != nil {
			return Page{}, err
		}
	}
	list, err := part[*metav1.PartialObjectMetadataList](encoding, r.list.Rest())
	if err != nil {
		return Page{}, r.wrong(fmt.Errorf("the metadata of the list: %w", err))
	}
	return Page{Version: list.ResourceVersion, Continue: list.Continue, Remaining: list.RemainingItemCount}, nil
}

// status is the error that the server sent in place of a list.
func (r *reading[T]) status() error {
	status, err := part[*metav1.Status](r.list.Encoding(), r.list.Rest())
	if err != nil {
		return r.wrong(fmt.Errorf("a status: %w", err))
	}
	if status.Status == metav1.StatusSuccess {
		return r.wrong(errors.New("the server sent a status in place of a list"))
	}
	return apierrors.FromObject(status)
}
