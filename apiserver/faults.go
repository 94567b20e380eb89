package apiserver

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

// DropWatches ends all open watches of a resource, as a server does that goes
// away: their streams end cleanly. It returns how many there were.
func (s *Server) DropWatches(resource schema.GroupResource) int {
	return s.handler.DropWatches(resource)
}

// BlackHole turns all connections to the server, and those that clients will
// make, into black holes: they stay open, but nothing is read from them or
// written to them, as in a network that drops all packets. With false, what is on
// its way arrives, and all goes on. See [heliograph.example/apiserver/fault.CutBlackHole]
// for one connection.
func (s *Server) BlackHole(on bool) { s.network.BlackHole(on) }

// Compact forgets all history before the current state, in the storage and in
// the watch caches: from then on a watch from an older resource version is
// answered with an ERROR event 410 Expired, as is a list at one; a later page of
// a list carries a token that goes on in the newest state. Open watches that have
// been told everything go on.
func (s *Server) Compact(ctx context.Context) error {
	if err := s.stores.compact(ctx); err != nil {
		return fmt.Errorf("compact the storage: %w", err)
	}
	return nil
}

// Freeze stops the watch caches of resources, or of all that are in use if none
// are named, in the state that is the newest when it is called: the server is a
// replica that has lost touch with etcd. Writes and gets of the newest state
// work. Lists at resource version "0" and open watches see no more changes; lists
// and streaming lists that must be newer get a 504 with the cause
// ResourceVersionTooLarge after three seconds. A list of the newest state, which
// names no version, is answered by the storage then. [Server.Thaw] ends it.
func (s *Server) Freeze(ctx context.Context, resources ...schema.GroupResource) error {
	return s.eachCache(resources, func(c *cacher.Cacher) error { return c.Freeze(ctx) })
}

// Unready takes their state from the watch caches of resources, or of all that
// are in use if none are named, as while kube-apiserver starts: watches end, and
// new ones and lists get a 429 whose Retry-After grows from one second to thirty.
// Writes, gets, and pages of lists without a selector work. [Server.Thaw] ends it.
func (s *Server) Unready(resources ...schema.GroupResource) error {
	return s.eachCache(resources, func(c *cacher.Cacher) error {
		c.Suspend(true)
		return nil
	})
}

// Thaw ends [Server.Freeze] and [Server.Unready] for resources, or for all if
// none are named. The caches catch up.
func (s *Server) Thaw(resources ...schema.GroupResource) error {
	return s.eachCache(resources, func(c *cacher.Cacher) error {
		c.Thaw()
		c.Resume()
		return nil
	})
}

// eachCache does something to the caches of resources, or of all in use.
func (s *Server) eachCache(resources []schema.GroupResource, do func(*cacher.Cacher) error) error {
	var errs []error
	for _, resource := range resources {
		if err := s.handler.Open(resource); err != nil {
			return err
		}
	}
	for _, c := range s.stores.cachesOf(resources) {
		if err := do(c.Cacher); err != nil {
			errs = append(errs, fmt.Errorf("watch cache of %s: %w", c.resource, err))
		}
	}
	return errors.Join(errs...)
}

// Snapshot is a backup of all objects, for [Server.Restore].
func (s *Server) Snapshot() *storage.Snapshot { return s.stores.backend.Snapshot() }

// Restore goes back in time, as a cluster does whose etcd is restored from a
// backup: objects and resource version become those of a snapshot, all watches
// end, and the watch caches start anew, if they are not frozen or not ready. From
// then on a version later than the snapshot is one of the future: a list that
// must be as new gets a 504 with the cause ResourceVersionTooLarge, and a watch
// from it stays silent until it has been reached again, by other changes. The
// snapshot may be that of another server that serves the same resources.
func (s *Server) Restore(snapshot *storage.Snapshot) error {
	if err := s.stores.restore(snapshot); err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	return nil
}
