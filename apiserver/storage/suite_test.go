package storage_test

import (
	"testing"

	"go.uber.org/goleak"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storagetest.Run(t, func(t *testing.T, store *storage.Store) storagetest.Subject {
		return storagetest.Subject{Interface: store}
	})
}
