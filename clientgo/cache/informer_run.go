package cache

import (
	"context"
	"errors"
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

var (
	errStarted    = errors.New("informer has already started")
	errNilContext = errors.New("the context is nil")
)

// Run is RunWithContext until stopCh is closed.
func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext reads, stores and tells until ctx ends, and returns when everything
// that it has started has ended. An informer runs once: a second call says so in the
// log and returns.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	if ctx == nil {
		report("Informer was not run", fmt.Errorf("informer %s: %w", s.native.Name(), errNilContext))
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx)
	if !s.start(ctx) {
		klog.FromContext(ctx).Info("Warning: an informer runs only once, and this one has been started before", "informer", s.native.Name())
		return
	}
	defer s.end()
	if err := s.native.Run(ctx); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Informer has ended")
	}
}

// start marks the beginning of the one run, and reports whether this is it.
func (s *sharedIndexInformer) start(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started, s.ctx = true, ctx
	return true
}

func (s *sharedIndexInformer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// HasStarted reports whether the informer was ever run.
func (s *sharedIndexInformer) HasStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// IsStopped reports whether the run has ended, or is about to.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isStopped()
}

// isStopped: the caller holds mu.
func (s *sharedIndexInformer) isStopped() bool {
	return s.ended || s.ctx != nil && s.ctx.Err() != nil
}

// HasSynced reports whether the store has held a complete state of the server.
func (s *sharedIndexInformer) HasSynced() bool { return isClosed(s.native.Synced()) }

// HasSyncedChecker is HasSynced for [WaitFor].
func (s *sharedIndexInformer) HasSyncedChecker() DoneChecker {
	return checker{name: "SharedIndexInformer " + s.expected.typeName(), done: s.native.Synced()}
}

// LastSyncResourceVersion is the version up to which changes were read.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	if !s.HasStarted() {
		return ""
	}
	return s.native.Status().Reader.Version
}

// GetStore returns the store.
func (s *sharedIndexInformer) GetStore() Store { return s.indexer }

// GetIndexer returns the store with its indexes.
func (s *sharedIndexInformer) GetIndexer() Indexer { return s.indexer }

// AddIndexers adds indexes at any time before the informer has stopped.
func (s *sharedIndexInformer) AddIndexers(indexers Indexers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopped() {
		return fmt.Errorf("informer %s: indexer was not added because it has stopped already", s.native.Name())
	}
	return s.indexer.AddIndexers(indexers)
}

// SetTransform sets what is made of each object before it is stored; nil stores it as
// it is. Once the informer has started it is an error.
func (s *sharedIndexInformer) SetTransform(transform TransformFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("informer %s: transform was not set: %w", s.native.Name(), errStarted)
	}
	s.transform = transform
	return nil
}

// GetController returns a controller that tells how the informer is. To run it does
// nothing.
func (s *sharedIndexInformer) GetController() Controller { return informerController{s} }

type informerController struct{ informer *sharedIndexInformer }

func (informerController) Run(<-chan struct{}) {}

func (informerController) RunWithContext(context.Context) {}

func (c informerController) HasSynced() bool { return c.informer.HasSynced() }

func (c informerController) HasSyncedChecker() DoneChecker { return c.informer.HasSyncedChecker() }

func (c informerController) LastSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.InformerResourceVersion) {
		return ""
	}
	return c.informer.LastSyncResourceVersion()
}

// checker is a [DoneChecker].
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string { return c.name }

func (c checker) Done() <-chan struct{} { return c.done }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
