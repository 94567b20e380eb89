package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

// Config is what a [Handler] serves and how.
type Config struct {
	// Scheme knows the Go types of resources; required.
	Scheme *runtime.Scheme
	// Storage opens the storage of a resource; required. It is called once
	// for each resource, when the resource is first used, and again after it
	// has failed.
	Storage func(r *Resource) (storage.Interface, error)
	// Faults is the script of faults; nil means none.
	Faults *fault.Script
	// ShardSelector is whether the parameter shardSelector is heeded; if not,
	// it is ignored, whatever it says.
	ShardSelector bool
}

// Handler serves the HTTP side of an API server: see the package
// documentation. It is safe for concurrent use.
type Handler struct {
	scheme   *runtime.Scheme
	open     func(r *Resource) (storage.Interface, error)
	faults   *fault.Script
	sharding bool
	strict   *jsonserializer.Serializer
	protobuf *protobuf.Serializer
	log      requestLog
	watches  watchSet
	buffers  sync.Pool // of *[]byte, for large frames

	mu        sync.RWMutex
	resources map[schema.GroupVersionResource]*served
}

// served is a resource that is being served.
type served struct {
	Resource
	open  func(r *Resource) (storage.Interface, error)
	mu    sync.Mutex
	store storage.Interface // nil until first used
}

// storage returns the storage of the resource, opening it the first time.
func (s *served) storage() (storage.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		store, err := s.open(&s.Resource)
		if err != nil {
			return nil, fmt.Errorf("storage of %s: %w", s.GroupVersionResource(), err)
		}
		s.store = store
	}
	return s.store, nil
}

// NewHandler makes a handler that serves no resource yet.
func NewHandler(c Config) (*Handler, error) {
	if c.Scheme == nil || c.Storage == nil {
		return nil, fmt.Errorf("%w: scheme and storage are required", ErrInvalidConfig)
	}
	return &Handler{
		scheme:   c.Scheme,
		open:     c.Storage,
		faults:   c.Faults,
		sharding: c.ShardSelector,
		strict: jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, c.Scheme, c.Scheme,
			jsonserializer.SerializerOptions{Strict: true}),
		protobuf:  protobuf.NewSerializer(c.Scheme, c.Scheme),
		resources: make(map[schema.GroupVersionResource]*served),
	}, nil
}

// Register serves more resources from now on. If one of them cannot be served
// an error is returned, that wraps [ErrInvalidResource] or
// [ErrDuplicateResource], and none is added.
func (h *Handler) Register(resources ...Resource) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	added := make(map[schema.GroupVersionResource]*served, len(resources))
	for _, r := range resources {
		if err := r.check(); err != nil {
			return err
		}
		gvr := r.GroupVersionResource()
		if h.resources[gvr] != nil || added[gvr] != nil {
			return fmt.Errorf("%w: %v", ErrDuplicateResource, gvr)
		}
		added[gvr] = &served{Resource: r, open: h.open}
	}
	for gvr, s := range added {
		h.resources[gvr] = s
	}
	return nil
}

// lookup returns a served resource, nil if there is none.
func (h *Handler) lookup(gvr schema.GroupVersionResource) *served {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.resources[gvr]
}

// ServeHTTP serves one request. A panic while serving becomes a 500.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	rec.Header().Set("Cache-Control", "no-cache, private")
	defer h.recover(rec, r)
	q, err := h.route(rec, r)
	if err == nil && q != nil {
		err = h.serve(q)
	}
	if err != nil {
		h.fail(q, err)
	}
}

// route finds out what a request asks of which resource. It answers requests that
// are about no resource that is served, and returns nil for them.
func (h *Handler) route(rec *recorder, r *http.Request) (*request, error) {
	if h.serveDiscovery(rec, r) {
		return nil, nil
	}
	t, ok := parsePath(r.URL.Path)
	if !ok && t.resource.Version == "" {
		notFound(rec)
		return nil, nil
	}
	if !ok {
		h.notServed(rec, r, t.resource)
		return nil, nil
	}
	s := h.lookup(t.resource)
	if s == nil {
		h.notServed(rec, r, t.resource)
		return nil, nil
	}
	query := r.URL.Query()
	verb, found, err := t.forResource(r.Method, &s.Resource, wantsWatch(query))
	if !found {
		h.notServed(rec, r, t.resource)
		return nil, nil
	}
	q := &request{Request: r, w: rec, res: &s.Resource, srv: s, verb: verb, target: t, query: query}
	rec.done = func(code int) { h.log.add(q, code) }
	return q, err
}

// serve hands a request to its verb, past the faults.
func (h *Handler) serve(q *request) error {
	ctx := q.Context()
	f, err := h.strike(ctx, q)
	if err != nil {
		return err
	}
	if q.verb == "watch" {
		return h.watch(ctx, q, &f)
	}
	if f.Cut != fault.CutNone {
		return h.lose(ctx, q, f.Cut)
	}
	return h.serveShort(ctx, q)
}

// serveShort serves a request that is no watch.
func (h *Handler) serveShort(ctx context.Context, q *request) error {
	timeout, err := requestTimeout(q.query)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = h.dispatch(ctx, q)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errTimedOut
	}
	return err
}

// dispatch serves the verbs that take a short time.
func (h *Handler) dispatch(ctx context.Context, q *request) error {
	switch q.verb {
	case "get":
		return h.get(ctx, q)
	case "list":
		return h.list(ctx, q)
	case "create":
		return h.create(ctx, q)
	case "update":
		return h.update(ctx, q)
	case "patch":
		return h.patch(ctx, q)
	case "delete":
		return h.delete(ctx, q)
	}
	return h.deleteCollection(ctx, q)
}

// recover turns a panic of a request into an answer.
func (h *Handler) recover(w *recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		// Asked for by a fault: the server breaks the connection off.
		panic(http.ErrAbortHandler)
	}
	klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", p), "A request panicked",
		"method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
	if w.code != 0 {
		// Too late for a status: the client must not take what it got for
		// all there is.
		panic(http.ErrAbortHandler)
	}
	h.writeStatus(w, r, apierrors.NewInternalError(fmt.Errorf("serving the request panicked: %v", p)))
}

// fail answers a request with an error.
func (h *Handler) fail(q *request, err error) {
	if q.w.code != 0 {
		// The answer has begun, so the error can only be shown by an
		// incomplete one. The usual reason is that the client has gone.
		klog.FromContext(q.Context()).V(2).Info("An answer was broken off", "path", q.URL.Path, "err", err)
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, errTimedOut) {
		sendTimeout(q.w)
		return
	}
	h.writeStatus(q.w, q.Request, err)
}

// writeStatus answers with the Status for err.
func (h *Handler) writeStatus(w *recorder, r *http.Request, err error) {
	status := toStatus(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	out, nerr := negotiate(r, nil, shapeStatus)
	if nerr != nil {
		// Nobody knows who can read this; kube-apiserver supposes a person.
		out = output{media: runtime.ContentTypeJSON, pretty: true}
	}
	data, eerr := h.encodeObject(status, out)
	if eerr != nil {
		http.Error(w, eerr.Error(), http.StatusInternalServerError)
		return
	}
	w.send(int(status.Code), out.media, data)
}

// notFound answers as kube-apiserver does for a path that nothing is served
// under.
func notFound(w http.ResponseWriter) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// notServed answers a request for what its group does not serve. Groups of
// built-in resources have a Status for that.
func (h *Handler) notServed(w *recorder, r *http.Request, gvr schema.GroupVersionResource) {
	if h.isBuiltin(gvr.Group) {
		h.writeStatus(w, r, genericError(http.StatusNotFound, ""))
		return
	}
	notFound(w)
}

// isBuiltin reports whether a group has built-in resources.
func (h *Handler) isBuiltin(group string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for gvr, s := range h.resources {
		if gvr.Group == group && !s.Custom {
			return true
		}
	}
	return false
}

// key is the object that the path of a request names.
func (q *request) key() types.NamespacedName {
	return types.NamespacedName{Namespace: q.namespace, Name: q.name}
}

// respondObject answers with an object or a Status.
func (h *Handler) respondObject(ctx context.Context, q *request, code int, obj runtime.Object, out output) error {
	data, err := h.encodeItem(q.res, obj, out)
	if err != nil {
		return err
	}
	return q.respond(ctx, code, data, out)
}

// respond sends a complete answer, unless the time of the request has run out.
func (q *request) respond(ctx context.Context, code int, data []byte, out output) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	q.w.send(code, out.media, data)
	return nil
}
