// Package reflector reads one collection of a Kubernetes API server and keeps
// reading: it lists, watches, survives whatever happens in between, and hands on
// an ordered sequence of changes that always leads from one state of the server
// to another.
//
// A [Source] is where it reads. There is one for each kind of client:
//
//	source, err := reflector.NewRESTSource[*corev1.Pod](clientset.CoreV1().RESTClient(), "pods",
//		reflector.SourceOptions{Namespace: "default"})
//
// With *unstructured.Unstructured or *metav1.PartialObjectMetadata as T it reads
// any resource as maps, or its bare metadata. Its answers are split while they
// are read, and decoded one object at a time, in the goroutine that reads: a list
// is never held whole, and an open watch costs a few kilobytes and no goroutine
// beside those of its connection.
//
// [NewDynamicSource], [NewMetadataSource] and [FromListerWatcher] are for fakes,
// and for clients that somebody else has made. Those decode a page or a frame as
// a whole, or not at all. A [Sink] is where it writes, such as the queue of an informer. A
// [Reflector] joins the two:
//
//	r, err := reflector.New(source, sink, reflector.Options[*corev1.Pod]{Name: "pods"})
//	err = r.Run(ctx)       // until ctx ends
//	fmt.Println(r.Status()) // pods: watching: streamed 12 objects at version 345 (for 3m2s)
//
// # What a sink gets
//
// First, and after each gap in the watch, one [deltafifo.Replaced] with all that
// a complete state of the server changes, and the version of that state. Then the
// events of the watch, in order, and a [deltafifo.Bookmark] where the server says
// that nothing else happened up to a version. A state that could not be read to
// its end is never seen.
//
// A state is compared, while it is read, with what the sink holds ([Known]). An
// object with the same UID and version is not pushed, not transformed and not
// kept; where the source is a [Skipper], as all here are, it is not decoded either,
// or not copied out of the list that a client has decoded.
// One with the same UID and an older version is not pushed either: versions never
// go back. One with another UID under the same name is a Deleted and an Added. One
// that is missing is a Deleted with FinalStateUnknown.
//
// A list after the first that changes more than Options.RelistBudget does not wait
// for its end: its changes are pushed page by page, each time as a Replaced that
// has the version of the state before, and the last one with the version of the
// list. Between them the sink holds a mixture, and Status.Mixed says so. A state
// that may be older than what the sink holds is never pushed in parts.
//
// An event that was passed on before is dropped. So is an older state of an
// object whose newer state was passed on.
//
// If the server itself goes back in time, as one restored from a backup does, a
// Replaced with a lower version leads there, and begins a new epoch
// (Status.Epoch). Two answers must say so, each of which the server had to take
// from its newest state. A server that has gone back and then forth beyond the
// last version cannot be told from one that never went back.
//
// # What the server is asked
//
// A state is read as a streaming list (a watch with sendInitialEvents, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists),
// or, where the server refuses, stays silent or breaks off, as a list in pages.
// Both ask for the newest state, never for one that a cache may have kept, unless
// Options.StaleStart allows that for the first. Options.MinimumResourceVersion is
// for those who know what an earlier run has seen: nothing older is published.
//
// What did not work is remembered, for all reflectors of the resource that share a
// [Ladder], and streaming is probed again after ten minutes, then after twice as
// long each time; after one minute at first where it had worked and then broke off.
// A server that was merely busy is streamed from the next time.
//
// A watch that ends is followed by a watch from the last version, whatever ended
// it. Only what proves a gap leads to a new state: the version has expired (410),
// the server does not reach it, the resource was away (404), or watch after watch
// brings nothing although the server has moved on. A version that expires twice
// before its watch brings anything is followed by a list in pages. Lists that
// follow each other within ten seconds do so after pauses that grow.
//
// Where bookmarks have come about every minute, silence for Options.SilenceTimeout
// ends the watch, and the next goes on from the last version. A watch that brings
// nothing at all, and so may be one from a version that the server does not know,
// is doubted: at such a silence, at one after the server could not be reached, or
// at the third in a row that is closed. Then a list of one object tells the version
// of the server. If that is lower than ours, the server was restored; if not, the
// watch goes on. Status counts Silences, SilentCloses and Proofs.
//
// The user of the client needs the verbs list and watch. Without one of them the
// reflector is in the state [Forbidden], and the error names it; where the server
// streams, watch alone will do.
//
// Everything that failed is followed by a pause, from one back-off that grows
// until a watch has lived for ten seconds, and no shorter than the server asks
// (Retry-After; see [KeepRetryAfter]).
// A list may take as long as it needs while it advances, and ends when it stalls:
// objects count as progress, and so do bytes where the source tells of them
// ([SourceTrace]). Every other request has a deadline of our own beside the
// server's. Every wait ends with the context.
//
// # What you can see
//
// [Reflector.Status] tells the [State] and its reason, what failed last and since
// when, the next try, how much was read, when the server last gave a sign of life,
// and how the last list went ([ListReport]). Options.OnTransition and whoever has
// used [Reflector.Subscribe] are told of each change of state.
//
// The log gets a line when trouble begins (a refusal at once, other failures at
// the third in a row), when it turns into another, and when it has ended; and one
// for each list of more than ten seconds, which says how long was spent waiting.
// At verbosity 2 it tells each change of state, at 4 each try.
//
// The states and what leads from one to the next:
//
//	starting     -> watching (from a known version), streaming or listing
//	streaming    -> watching, or listing if it does not work
//	listing      -> watching
//	watching     -> watching (a new one), or starting after a gap
//	any of these -> backing off, forbidden or not served after a failure, and back
//	any          -> stopped when the context ends or the sink refuses
//
// # Objects that cannot be used
//
// An object that cannot be decoded or transformed harms only itself: it is
// reported as an [ObjectError] and counted, and what was held of it stays.
// [Reflector.Broken] lists such objects, [Reflector.IsBroken] tells of one. It is
// tried again at its next version. Where the source is a [Getter], it is read
// again by its name as well: half a minute later, then ever more slowly, one
// object a second at most. A state that is ahead of the watch is left to the
// watch.
//
// Where not even a name can be read, nobody knows which object it is. A list with
// such an object deletes nothing: what it seems to lack stays, and counts as broken.
// Status.Unaccounted tells of such objects and events since the last list.
//
// # Shape and sharing
//
// Options.Shape says what of each object is wanted: without managedFields, or only
// some fields. What is not wanted of a built-in type in protobuf, or of an unstructured
// object, is not decoded; elsewhere it is cut away after the one object was
// decoded. Objects of built-in types that travel as protobuf share strings, and
// unless Options say otherwise equal maps, lists and messages; so do unstructured
// objects, but for the outermost map: nobody may write into them. A transform may, so
// nothing but strings is shared where there is one, unless
// Options.ReadOnlyTransform promises that it does not. A source that is used
// without a reflector gives whole and private objects; see [Shaper].
//
// Typed objects that travel as JSON, as custom resources do, are decoded as
// apimachinery does it, or by SourceOptions.UnmarshalJSON, and share nothing.
//
// What is looked up to be shared is bounded by 8 MiB for each source, is forgotten
// if it has not come again within some ten thousand objects or ten to twenty quiet
// minutes, and shows in Status.Sharing.
//
// # Resources that are not served
//
// After a 404 the reflector is in the state [NotServed], and tries again after
// pauses that grow to five minutes; [Reflector.Nudge] ends a pause. Once the
// resource is there, its state is listed and compared as after any gap, so objects
// that were created anew, with other UIDs, are deletes and adds. Until then what is
// held stays, or is deleted when the absence is sure: see [NotServedPolicy].
//
// # Many reflectors
//
// Those that read one server may share a [Group] (Options.Group). It bounds how many
// read their state at a time, lets one request a second find out whether a server is
// back that was unreachable, and then wakes the others, spread out.
//
// # Versions
//
// [Reflector.WaitForVersion] waits until all changes up to a resource version were
// pushed. A server that goes back in time fails such a wait with [ErrEpoch].
package reflector
