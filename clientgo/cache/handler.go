package cache

import (
	"context"
	"fmt"
	"reflect"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"heliograph.example/informer"
)

// minimumResyncPeriod is the shortest resync period of a handler, as with client-go.
const minimumResyncPeriod = time.Second

// AddEventHandler is AddEventHandlerWithOptions with the informer's resync period.
func (s *sharedIndexInformer) AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is AddEventHandlerWithOptions with a resync period,
// 0 for none.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions registers a handler, before or while the informer runs.
// It is first told of what is there. After the informer has stopped, and for a nil
// handler, it is an error.
//
// The resync period is kept to, whatever other handlers ask for: at least a second,
// and none if the informer was made without resyncs.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if funcs, ok := handler.(*ResourceEventHandlerFuncs); handler == nil || ok && funcs == nil {
		return nil, fmt.Errorf("informer %s: handler was not added because it is nil", s.native.Name())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopped() {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", handler)
	}
	logger := ptr.Deref(options.Logger, klog.Background())
	name := nameOfHandler(handler)
	native, err := s.native.Handle(&eventHandler{handler: handler, logger: logger}, informer.HandlerOptions[any]{
		Name: name, Resync: s.resyncOf(logger, options), Crash: true,
	})
	if err != nil {
		return nil, err
	}
	return &registration{Registration: native, informer: s, expected: s.expected.typeName()}, nil
}

// resyncOf returns the resync period of a handler.
func (s *sharedIndexInformer) resyncOf(logger klog.Logger, options HandlerOptions) time.Duration {
	period := ptr.Deref(options.ResyncPeriod, s.resyncPeriod)
	switch {
	case period <= 0:
		return 0
	case s.resyncPeriod == 0:
		logger.Info("Warning: a handler asks for resyncs, and its informer was made without", "informer", s.native.Name(), "resyncPeriod", period)
		return 0
	case period < minimumResyncPeriod:
		logger.Info("Warning: resync period is too small and was raised", "informer", s.native.Name(), "resyncPeriod", period, "minimum", minimumResyncPeriod)
		return minimumResyncPeriod
	}
	return period
}

// RemoveEventHandler ends a registration: after a call that may be under way, the
// handler is called no more. What is no registration of this informer is an error.
// To remove twice does nothing.
func (s *sharedIndexInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("informer %s: no handler was removed: %T is no registration of it", s.native.Name(), handle)
	}
	if r == nil || r.informer != s {
		return fmt.Errorf("informer %s: no handler was removed: the registration is that of another informer", s.native.Name())
	}
	r.Remove()
	return nil
}

// registration is a handler's place at an informer.
type registration struct {
	*informer.Registration
	informer *sharedIndexInformer
	expected string
}

// HasSynced reports whether the handler has returned from the last of the objects
// that were there when it came.
func (r *registration) HasSynced() bool { return isClosed(r.Synced()) }

// HasSyncedChecker is HasSynced for [WaitFor].
func (r *registration) HasSyncedChecker() DoneChecker {
	return checker{name: r.Name() + " + SharedIndexInformer " + r.expected, done: r.Synced()}
}

// ShutdownChan is closed when the handler was removed and its last call has returned.
// [ShutDownEventHandler] waits for it.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// eventHandler calls a handler of client-go.
type eventHandler struct {
	handler ResourceEventHandler
	logger  klog.Logger
}

func (h *eventHandler) Handle(ctx context.Context, c informer.Change[any]) {
	defer func() {
		if value := recover(); value != nil {
			crash(klog.NewContext(ctx, h.logger), value)
		}
	}()
	switch c.Type {
	case informer.Added:
		h.handler.OnAdd(c.New, c.Initial)
	case informer.Updated:
		h.handler.OnUpdate(c.Old, c.New)
	case informer.Deleted:
		if c.FinalStateUnknown {
			h.handler.OnDelete(DeletedFinalStateUnknown{Key: keyOf(c.Key), Obj: c.Old})
		} else {
			h.handler.OnDelete(c.New)
		}
	}
}

// crash gives a panic to the crash handlers of apimachinery, and panics again where
// those say so: by default.
func crash(ctx context.Context, value any) {
	defer utilruntime.HandleCrashWithContext(ctx)
	panic(value)
}

// isNil reports whether v is nil, or an interface around a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
