package informer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// recorder is a handler that keeps what it is told and checks the chain: Old is
// the last New, versions rise, a Deleted ends the object, identities do not change
// in an Updated.
type recorder struct {
	mu      sync.Mutex
	told    []string
	have    map[types.NamespacedName]*corev1.ConfigMap
	faults  []string
	block   chan struct{} // if not nil, received from before each change is noted
	version map[types.NamespacedName]int
}

func newRecorder() *recorder {
	return &recorder{have: map[types.NamespacedName]*corev1.ConfigMap{}, version: map[types.NamespacedName]int{}}
}

func (r *recorder) Handle(ctx context.Context, c Change[*corev1.ConfigMap]) {
	if r.block != nil {
		select {
		case <-r.block:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, describe(c))
	old, had := r.have[c.Key]
	version, _ := strconv.Atoi(c.Version)
	switch c.Type {
	case Added:
		r.expect(!had && c.Old == nil && c.New != nil, c, "Added of a known object")
		r.have[c.Key] = c.New
	case Updated:
		r.expect(had && c.Old == old, c, "Old is not the last New")
		r.expect(c.Resync || had && c.New.UID == old.UID, c, "Updated changes the identity")
		r.expect(c.Resync == (c.Old == c.New), c, "Resync does not fit the objects")
		r.have[c.Key] = c.New
	case Deleted:
		r.expect(had && c.Old == old, c, "Old of a Deleted is not the last New")
		r.expect(c.FinalStateUnknown == (c.New == nil), c, "the final state is not as marked")
		delete(r.have, c.Key)
	}
	r.expect(version > r.version[c.Key] || version == r.version[c.Key] && (c.Resync || c.FinalStateUnknown), c, "the version does not rise")
	r.version[c.Key] = version
}

func (r *recorder) expect(ok bool, c Change[*corev1.ConfigMap], what string) {
	if !ok {
		r.faults = append(r.faults, fmt.Sprintf("%s: %s", describe(c), what))
	}
}

// check fails the test if the chain was broken, or if what the handler was told
// does not add up to want.
func (r *recorder) check(t *testing.T, want map[string]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.faults {
		t.Error(f)
	}
	have := map[string]string{}
	for k, m := range r.have {
		have[k.Name] = m.Data["v"]
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("the handler was told of %v, the server has %v", have, want)
	}
}

func (r *recorder) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.told...)
}

// describe writes a change as "Added a=1" with its marks.
func describe(c Change[*corev1.ConfigMap]) string {
	s := fmt.Sprintf("%v %s=%s", c.Type, c.Key.Name, c.Object().Data["v"])
	for mark, on := range map[string]bool{" initial": c.Initial, " resync": c.Resync, " unseen": c.FinalStateUnknown} {
		if on {
			s += mark
		}
	}
	return s
}
