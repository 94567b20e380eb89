package cacher_test

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a cache in front of store that ends with the test.
func open(t *testing.T, store *storage.Store, opts cacher.Options) *cacher.Cacher {
	t.Helper()
	c, err := cacher.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}

func TestCacher(t *testing.T) {
	storagetest.Run(t, func(t *testing.T, store *storage.Store) storagetest.Subject {
		c := open(t, store, cacher.Options{})
		return storagetest.Subject{Interface: c, Forget: c.DropHistory}
	})
}
