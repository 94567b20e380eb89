package kubeapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	thisModule = "heliograph.example/e2e"
	kubernetes = "k8s.io/kubernetes"
)

// Binary returns the path of a kube-apiserver binary of the version that the
// go.mod of e2e requires, and builds it if it is not in the cache yet. That
// takes minutes; progress is written to log, one line at a time. The working
// directory must lie in the e2e module. Binary may be called by several
// goroutines and processes at once. When ctx ends, a build of this call is
// killed and nothing is left in the cache.
func Binary(ctx context.Context, log io.Writer) (string, error) {
	src, err := findSource(ctx)
	if err != nil {
		return "", fmt.Errorf("kube-apiserver: %w", err)
	}
	dir, err := cacheDir(src)
	if err != nil {
		return "", fmt.Errorf("kube-apiserver %s: %w", src.version, err)
	}
	path := filepath.Join(dir, "kube-apiserver")
	if found(path) {
		return path, nil
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), log)
	if err != nil {
		return "", fmt.Errorf("kube-apiserver %s: %w", src.version, err)
	}
	defer unlock()
	if found(path) { // whoever held the lock has built it
		return path, nil
	}
	if err := build(ctx, src, path, log); err != nil {
		return "", fmt.Errorf("kube-apiserver %s: %w", src.version, err)
	}
	return path, nil
}

// source is what a binary is built from.
type source struct {
	module  string // folder of the e2e module
	version string // of Kubernetes
	key     string // hash of all that decides what the binary is
}

func findSource(ctx context.Context) (source, error) {
	out, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Path}} {{.Version}} {{.Dir}}", thisModule, kubernetes)
	if err != nil {
		return source{}, fmt.Errorf("looking for the module %s from the working directory: %w", thisModule, err)
	}
	var src source
	for line := range strings.Lines(out) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		version, dir, _ := strings.Cut(rest, " ")
		switch path {
		case thisModule:
			src.module = dir
		case kubernetes:
			src.version = version
		}
	}
	if src.module == "" || src.version == "" {
		return source{}, fmt.Errorf("go list -m gave no folder for %s or no version for %s: %q", thisModule, kubernetes, out)
	}
	goVersion, err := goCommand(ctx, src.module, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return source{}, err
	}
	src.key, err = hash(src.module, goVersion)
	return src, err
}

// hash digests the files that decide what is built, and the compiler.
func hash(module, goVersion string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", goVersion)
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("kas", "main.go")} {
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

func cacheDir(src source) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep the binary; set HOME or XDG_CACHE_HOME: %w", err)
	}
	dir := filepath.Join(user, "heliograph", "kube-apiserver-"+src.version+"-"+src.key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a place to keep the binary: %w", err)
	}
	return dir, nil
}

func found(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// build compiles into a temporary file beside path, tries it, and renames it, so
// that path is never half a binary.
func build(ctx context.Context, src source, path string, log io.Writer) error {
	temp := path + ".new"
	defer os.Remove(temp) // after the rename there is nothing left to remove
	fmt.Fprintf(log, "building kube-apiserver %s, once per machine, about 7 minutes on 2 idle cores...\n", src.version)
	began := time.Now()
	// The linker alone sets the version, as the release builds of Kubernetes
	// do: without it the server calls itself v0.0.0.
	flags := "-s -w -X k8s.io/component-base/version.gitVersion=" + src.version
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", flags, "-o", temp, "./kas")
	cmd.Dir, cmd.Env = src.module, environment()
	// An interrupted go command takes its compilers along, a killed one does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := runTelling(cmd, log, began); err != nil {
		return fmt.Errorf("go build ./kas: %w\n%s", errors.Join(context.Cause(ctx), err), tail(output.String()))
	}
	said, err := exec.CommandContext(ctx, temp, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the new binary does not start: %w\n%s", err, tail(string(said)))
	}
	if !strings.Contains(string(said), src.version) {
		return fmt.Errorf("the new binary calls itself %q", strings.TrimSpace(string(said)))
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	fmt.Fprintf(log, "built kube-apiserver %s in %v\n", src.version, time.Since(began).Round(time.Second))
	return nil
}

// runTelling runs cmd and writes a line each minute, because a CI system that
// sees no output for long may think that nothing happens.
func runTelling(cmd *exec.Cmd, log io.Writer, began time.Time) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			fmt.Fprintf(log, "still building kube-apiserver, %v so far\n", time.Since(began).Round(time.Second))
		}
	}
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, environment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, tail(stderr.String()))
	}
	return string(out), nil
}

// environment keeps a workspace file of the user out of the build.
func environment() []string { return append(os.Environ(), "GOWORK=off") }

// tail returns the end of a long output, where the reason of a failure stands.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
