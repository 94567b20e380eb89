package kubeapi

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheKeyChangesWithWhateverDecidesWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	files := []string{"go.mod", "go.sum", filepath.Join("kas", "main.go")}
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	key := func(goVersion string) string {
		t.Helper()
		k, err := hash(dir, goVersion)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if _, err := hash(dir, "go1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without module files: %v", err)
	}
	for _, name := range files {
		write(name, "old")
	}
	seen := map[string]string{key("go1"): "the start"}
	note := func(what, k string) {
		if before, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", what, before)
		}
		seen[k] = what
	}
	note("another compiler", key("go2"))
	for _, name := range files {
		write(name, "new")
		note("another "+name, key("go1"))
	}
	for _, name := range files {
		write(name, "old")
	}
	if seen[key("go1")] != "the start" {
		t.Error("the same files have another key")
	}
}

func TestWithoutAHomeTheErrorSaysWhatToSet(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("home", "") // of other systems
	t.Setenv("LocalAppData", "")
	if dir, err := cacheDir(source{version: "v0", key: "k"}); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("got %q, %v", dir, err)
	}
}

func TestTheLockIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders sync.WaitGroup
	var mu sync.Mutex // only to count
	inside, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		inside += by
		most = max(most, inside)
	}
	for range 4 {
		holders.Go(func() {
			unlock, err := lock(t.Context(), path, io.Discard)
			if err != nil {
				t.Error(err)
				return
			}
			count(1)
			time.Sleep(time.Millisecond) // gives a second holder the chance to show
			count(-1)
			unlock()
		})
	}
	holders.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at the same time", most)
	}
}

func TestAWaitForTheLockEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if _, err := lock(ctx, path, io.Discard); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}
