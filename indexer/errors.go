package indexer

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/panics"
)

var (
	// ErrUnknownIndex is wrapped, with the name asked for and the names that
	// there are, by queries of an index that does not exist.
	ErrUnknownIndex = errors.New("unknown index")

	// ErrIndexExists is wrapped by AddIndexes, with the name, for an index
	// that is there already.
	ErrIndexExists = errors.New("the index exists already")

	// ErrNilIndexFunc is wrapped by New and AddIndexes, with the name, for an
	// index without a function.
	ErrNilIndexFunc = errors.New("the index function is nil")

	// ErrNotOrdered is wrapped by Select, with the name, for a Prefix or Range
	// over an index that is not ordered.
	ErrNotOrdered = errors.New("the index is not ordered")

	// ErrNoLabels is wrapped by Select, with the type, for a selector of
	// labels where the stored type has none.
	ErrNoLabels = errors.New("objects of this type have no labels")

	// ErrNilSelector is returned by Select for a nil selector of labels.
	ErrNilSelector = errors.New("the label selector is nil")

	// ErrClosed is returned by calls of a snapshot that is closed.
	ErrClosed = errors.New("the snapshot is closed")

	// ErrTxDone is returned by Put of a transaction that has ended. Nothing
	// is stored.
	ErrTxDone = errors.New("the transaction has ended")
)

// IndexError tells that an index function failed for one object. The object is
// stored, but the index does not list it until a later version of it can be
// indexed.
type IndexError struct {
	// Index is the name of the index.
	Index string
	// Key is that of the object.
	Key types.NamespacedName
	// Err is what the function returned, or a *PanicError.
	Err error
}

// Error names the index and the object.
func (e *IndexError) Error() string {
	return fmt.Sprintf("index %q of object %q: %v", e.Index, e.Key.String(), e.Err)
}

// Unwrap returns the cause.
func (e *IndexError) Unwrap() error { return e.Err }

// PanicError is a panic of an index function, as an error.
type PanicError = panics.Error
