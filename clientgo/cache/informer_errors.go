package cache

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	"heliograph.example/reflector"
)

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for a handler that takes no
// context.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	if handler == nil {
		return s.SetWatchErrorHandlerWithContext(nil)
	}
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets what is called after each failure that is
// followed by a pause. The Reflector that it is given has the name and the type of the
// informer and was never run. There is one handler: the last wins, and nil is none.
// Once the informer has started it is an error.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("informer %s: watch error handler was not set: %w", s.native.Name(), errStarted)
	}
	s.watchErrorHandler = handler
	return nil
}

// lastFailure tells one failure from the next.
type lastFailure struct {
	tries int
	at    time.Time
}

// watchErrors is told of each change of state of the reader, in its goroutine.
func (s *sharedIndexInformer) watchErrors(status reflector.Status) {
	failure := lastFailure{status.Tries, status.LastErrorAt}
	waits := status.State == reflector.BackingOff || status.State == reflector.Forbidden || status.State == reflector.NotServed
	s.mu.Lock()
	news := waits && status.LastError != nil && failure != s.failure
	s.failure = failure
	handler, ctx := s.watchErrorHandler, s.ctx
	s.mu.Unlock()
	if news && handler != nil && ctx != nil {
		handler(ctx, s.shell(), status.LastError)
	}
}

// shell is a Reflector for those who are to be given one.
func (s *sharedIndexInformer) shell() *Reflector {
	return cache.NewReflectorWithOptions(failing(errStarted), s.expected.example, s.indexer, cache.ReflectorOptions{
		Name: s.native.Name(), TypeDescription: s.expected.description,
	})
}
