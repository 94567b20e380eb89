package storage

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/apiserver/storage/history"
)

// ListQuery is what a list asks for, after the rules that join resource
// version, match, limit and continue token have been applied. [ParseList] makes
// it.
type ListQuery struct {
	Selection
	// Limit is the largest number of objects to return; 0 means no limit.
	Limit int64
	// Exact is the revision to read. If it is 0, the newest state is read, or
	// with Any whatever is at hand, or with Minimum one not older than that.
	Exact   uint64
	Minimum uint64
	Any     bool
	// Start is the first key to consider, as [KeyString] writes it.
	Start string
	// Continued marks a later page.
	Continued bool
}

// ParseList applies the rules of kube-apiserver to the options of a list. Two of
// them are worth knowing: a limit is ignored for resource version "0", and a
// resource version with a limit but without a match is an exact one.
func ParseList(opts ListOptions) (ListQuery, error) {
	q := ListQuery{Selection: opts.Selection, Limit: max(0, opts.Limit)}
	switch opts.Match {
	case "", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan:
	default:
		return q, apierrors.NewBadRequest(fmt.Sprintf("unknown resourceVersionMatch %q", opts.Match))
	}
	if opts.Continue != "" {
		return q.withToken(opts)
	}
	version, err := parseListVersion(opts.ResourceVersion)
	if err != nil {
		return q, err
	}
	switch {
	case opts.ResourceVersion == "":
	case version == 0:
		q.Any, q.Limit = true, 0
	case opts.Match == metav1.ResourceVersionMatchExact, opts.Match == "" && q.Limit > 0:
		q.Exact = version
	default:
		q.Minimum = version
	}
	return q, nil
}

func (q ListQuery) withToken(opts ListOptions) (ListQuery, error) {
	start, revision, err := decodeContinue(opts.Continue)
	if err != nil {
		return q, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return q, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	q.Continued = true
	q.Start = q.scope() + start
	if revision != latestRevision {
		q.Exact = uint64(revision)
	}
	return q, nil
}

// Prefix is the prefix of all keys, as [KeyString] writes them, that can be in
// the scope. Not every key with it need be: see [Selection.Includes].
func (q ListQuery) Prefix() string {
	if q.Namespace == "" {
		return ""
	}
	return q.scope() + q.Name
}

// Page makes the answer from the objects found in the state at revision. last
// is the key of the last one, and remaining the number of keys with the prefix
// after it.
func (q ListQuery) Page(items []runtime.Object, revision uint64, last string, remaining int) List {
	l := List{Items: items, ResourceVersion: formatVersion(revision)}
	// A key that is given in full cannot be on a later page.
	if remaining == 0 || q.Namespace != "" && q.Name != "" {
		return l
	}
	l.Continue = encodeContinue(last[len(q.scope()):]+"\x00", int64(revision))
	if !q.ByContent() && q.Name == "" {
		n := int64(remaining)
		l.Remaining = &n
	}
	return l
}

// expired turns the error of a read at q.Exact into what a client is told.
func (q ListQuery) expired(err error) error {
	var compacted *history.CompactedError
	var future *history.FutureError
	switch {
	case errors.As(err, &future):
		return NewTooLargeError(future.Revision, future.Current, 0)
	case !errors.As(err, &compacted):
		return err
	case q.Continued:
		return newContinueExpiredError(encodeContinue(q.Start[len(q.scope()):], latestRevision))
	}
	return newExactExpiredError()
}

// List implements [Interface].
func (s *Store) List(ctx context.Context, opts ListOptions) (List, error) {
	q, err := ParseList(opts)
	if err != nil {
		return List{}, err
	}
	if err := s.reached(ctx, q.Minimum); err != nil {
		return List{}, err
	}
	r := RangeOptions{Start: s.prefix + q.Start, Limit: q.chunk(), Revision: q.Exact}
	var items []runtime.Object
	for {
		chunk, err := s.backend.List(ctx, s.prefix+q.Prefix(), r)
		if err != nil {
			return List{}, q.expired(err)
		}
		for i, kv := range chunk.Items {
			obj, err := s.selected(q.Selection, kv)
			if err != nil {
				return List{}, err
			}
			if obj != nil {
				items = append(items, obj)
			}
			if q.Limit > 0 && int64(len(items)) == q.Limit {
				return q.Page(items, chunk.Revision, s.relative(kv.Key), len(chunk.Items)-i-1+chunk.Remaining), nil
			}
			if err := ctx.Err(); err != nil {
				return List{}, err
			}
		}
		if chunk.Remaining == 0 {
			return q.Page(items, chunk.Revision, "", 0), nil
		}
		r.Start = chunk.Items[len(chunk.Items)-1].Key + "\x00"
		r.Revision = chunk.Revision
	}
}

// chunk is the number of keys to read at once: as many as are returned, or
// more where a selector will throw some away.
func (q ListQuery) chunk() int {
	const least, most = 500, 10_000
	if q.Limit == 0 || !q.ByContent() && q.Name == "" {
		return int(q.Limit)
	}
	return int(min(max(q.Limit, least), most))
}

// selected decodes kv and returns the object if the selection takes it, nil if
// it does not.
func (s *Store) selected(sel Selection, kv KeyValue) (runtime.Object, error) {
	if !sel.Includes(ParseKey(s.relative(kv.Key))) {
		return nil, nil
	}
	obj, err := s.decode(kv.Key, kv.Value, kv.Revision)
	if err != nil {
		return nil, err
	}
	ok, err := s.matches(sel, obj)
	if err != nil || !ok {
		return nil, err
	}
	return obj, nil
}
