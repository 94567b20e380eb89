// Package cacher is the watch cache of the API server. It stands in front of the
// store of one resource, implements the same interface, and answers from memory
// what it can, so that a thousand watchers cost one watch of the store and each
// object is decoded once.
//
//	cache, err := cacher.New(store, cacher.Options{})
//	go cache.Run(ctx)            // by an owner that waits for it
//	list, err := cache.List(ctx, storage.ListOptions{})
//	watch, err := cache.Watch(ctx, storage.WatchOptions{ResourceVersion: list.ResourceVersion})
//
// A [Cacher] is fed by the same reflector that feeds informers, over the store
// instead of HTTP. Nothing is read before the first request that needs the
// cache; that request waits, in a process a few microseconds, until the state is
// there. Until then the only cost is the goroutine in [Cacher.Run]; from then on
// there are at most two.
//
// # Reads
//
// What a list without a resource version shows is the newest state: the cache
// asks the store for its version, waits until it has come as far, and answers
// itself. If that takes more than three seconds, the store answers. Version "0"
// takes what is there; another version waits, up to three seconds, until the
// cache is not older. Exact lists and later pages come from the past that the
// window covers, and else from the store. Get follows the same rules, except
// that for the newest state it asks the store rather than wait.
//
// # Watches
//
// All watchers read one window of changes, each with a cursor. There is no
// queue and no goroutine per watcher and no budget to use up: a slow watcher
// costs nothing, and ends only if the window has moved past it. The window keeps
// the last 4,096 changes ([Options.Window]) in any case, and more for 75
// seconds. What a change looks like on the wire is worked out once and shared by
// all its watchers ([storage.Event.Encoded]).
//
// A watcher ends with io.EOF, as when a server closes the stream, if it has
// fallen off the window, if the cache had to read its whole state anew and may
// have missed changes, or if the cache is stopped. The client comes back with
// the last version it has seen, and is told with a 410 if that is too old.
// [Options.Backlog], for tests, also ends a watcher that is slower than the
// writers, as kube-apiserver does when the buffer of a watcher is full: even a
// good client can meet that in a burst of writes.
//
// Bookmarks go out about once a minute and two seconds before the deadline of
// the watch, if the version has moved since the watch began, be it by writes to
// other resources.
//
// # When it cannot
//
// A cache that does not become ready within three seconds refuses lists and
// watches with a 429, whose Retry-After grows from a second to half a minute;
// gets and pages of lists without a selector go to the store. A version that is
// not reached within three seconds is a 504 with the cause
// ResourceVersionTooLarge. After the end of Run all requests that need the cache
// are refused with a 503.
//
// Tests bring these about: [Cacher.Freeze] makes the cache lag until
// [Cacher.Thaw], [Cacher.Suspend] takes its state away until [Cacher.Resume],
// and [Cacher.DropHistory] its past.
package cacher
