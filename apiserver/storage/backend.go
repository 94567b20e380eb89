package storage

import "context"

// Backend keeps bytes under keys, by the rules of etcd: one revision counter
// for all keys, raised by one with every change; a state that can be read at any
// revision that has not been compacted; writes that compare before they swap;
// and watches that tell every change after a revision, with the value before
// it. It is what [Store] is built on; [Memory] implements it.
//
// A Backend is safe for use by several goroutines. Values handed out are shared
// and must not be changed; values handed in are kept and must not be changed
// afterwards.
//
// A revision that can no longer be read gives a
// [heliograph.example/apiserver/storage/history.CompactedError], one that has
// not been reached a [heliograph.example/apiserver/storage/history.FutureError].
type Backend interface {
	// Get returns the newest state of one key, with revision 0 if it does not
	// exist.
	Get(ctx context.Context, key string) (KeyValue, error)
	// List returns keys with a prefix in order, all from one revision.
	List(ctx context.Context, prefix string, opts RangeOptions) (Range, error)
	// Put stores value under key if the key's revision is still expected,
	// where 0 stands for a key that does not exist. It returns what is stored
	// now, and whether it is the value just written.
	Put(ctx context.Context, key string, value []byte, expected uint64) (KeyValue, bool, error)
	// Delete removes key if its revision is still expected. It returns the
	// revision of the delete and true, or what is stored now and false.
	Delete(ctx context.Context, key string, expected uint64) (KeyValue, bool, error)
	// Watch tells every change under a prefix after a revision. The revision
	// must not have been compacted, and may be in the future. The watch ends
	// when ctx does.
	Watch(ctx context.Context, prefix string, after uint64) (BackendWatch, error)
	// RequestProgress makes each open watch of this very prefix report how
	// far it has come, as soon as it has delivered everything up to the
	// current revision. It does not wait for that.
	RequestProgress(ctx context.Context, prefix string) error
	// CurrentRevision is the newest revision of all keys.
	CurrentRevision(ctx context.Context) (uint64, error)
	// CompactRevision is the oldest revision that can be read and watched
	// from. It is called often and must be cheap.
	CompactRevision(ctx context.Context) (uint64, error)
	// Compact forgets the states and changes before a revision. Open watches
	// that have not delivered them yet end with an error.
	Compact(ctx context.Context, revision uint64) error
}

// KeyValue is one key with its value.
type KeyValue struct {
	Key   string
	Value []byte
	// Revision is that of the last write to this key.
	Revision uint64
}

// RangeOptions narrow a [Backend] List. The zero value lists everything as it is
// now.
type RangeOptions struct {
	// Start is the first key to return; empty means the prefix itself.
	Start string
	// Limit is the largest number of keys to return; 0 means no limit.
	Limit int
	// Revision is the revision to read; 0 means the newest.
	Revision uint64
}

// Range is the answer to a [Backend] List.
type Range struct {
	Items []KeyValue
	// Revision is the revision that was read.
	Revision uint64
	// Remaining is the number of keys under the prefix after the last item,
	// at the same revision.
	Remaining int
}

// BackendWatch is an open watch on a [Backend]. Only one goroutine may call
// Next.
type BackendWatch interface {
	// Next waits until there is something to tell. When the context of Watch
	// has ended, it returns its error; after Stop, io.EOF; and a
	// [heliograph.example/apiserver/storage/history.CompactedError] if
	// changes that have not been told are gone.
	Next() (Batch, error)
	// Stop ends the watch and makes a waiting Next return.
	Stop()
}

// Batch is what a [BackendWatch] tells at once. It is valid until the next call.
type Batch struct {
	// Changes are in the order of their revisions.
	Changes []BackendChange
	// Progress, if not 0, is a revision up to which every change has been
	// told, this batch included. It answers RequestProgress.
	Progress uint64
}

// BackendChange is one change of one key. For a deletion, Value is nil and
// Revision that of the delete.
type BackendChange struct {
	KeyValue
	// Previous is the state before, nil if there was none.
	Previous *KeyValue
	Deleted  bool
}
