package informer

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantities "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// mutations collects what a detector reports.
type mutations struct {
	mu    sync.Mutex
	found []*ObjectError
}

func (m *mutations) add(e *ObjectError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found = append(m.found, e)
}

// one returns the only report since the last call.
func (m *mutations) one(t *testing.T) (*ObjectError, *MutationError) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var found *MutationError
	if len(m.found) != 1 || m.found[0].Stage != StageMutated || !errors.As(m.found[0], &found) {
		t.Fatalf("reported: %v", m.found)
	}
	of := m.found[0]
	m.found = nil
	return of, found
}

// twins returns a world of two objects that have their data in common.
func twins() *world {
	w := newWorld()
	w.set("a", "1")
	w.set("b", "1")
	w.objects[key("b")].Data = w.objects[key("a")].Data
	return w
}

func TestAHandlerThatWritesIntoASharedPartIsNamedWithTheField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, reports := twins(), &mutations{}
		i := running(t, w, Options[*corev1.ConfigMap]{Mutations: ReportMutations, OnObjectError: reports.add})
		handle(t, i, HandlerFunc[*corev1.ConfigMap](func(_ context.Context, c Change[*corev1.ConfigMap]) {
			if c.Key == key("b") {
				c.New.Data["v"] = "mine"
			}
		}), HandlerOptions[*corev1.ConfigMap]{Name: "writer"})
		synctest.Wait()
		of, found := reports.one(t)
		if of.Key != key("b") || of.Resource != "configmaps" || found.Handler != "writer" || found.Field != "data[v]" || found.Others != 1 {
			t.Errorf("%v", of)
		}
		for _, words := range []string{"ns/b", "handler writer has written to data[v]", "1 other objects"} {
			if !strings.Contains(of.Error(), words) {
				t.Errorf("%q does not say %q", of.Error(), words)
			}
		}
		// Who is told of the objects later is not to blame.
		handle(t, i, newRecorder(), HandlerOptions[*corev1.ConfigMap]{})
		w.set("a", "2")
		synctest.Wait()
		if len(reports.found) > 0 {
			t.Errorf("reported: %v", reports.found)
		}
		// The old state has left the store.
		handle(t, i, Funcs[*corev1.ConfigMap]{Updated: func(_ context.Context, old, _ *corev1.ConfigMap) {
			old.Labels = map[string]string{"a": "b"}
		}}, HandlerOptions[*corev1.ConfigMap]{Name: "old"})
		w.set("a", "3")
		synctest.Wait()
		if of, found := reports.one(t); of.Key != key("a") || found.Field != "metadata.labels" || found.Handler != "old" && len(found.Beside) == 0 {
			t.Errorf("%v", of)
		}
	})
}

func TestAReaderThatWritesIsFoundInTimeAndAtTheLatestInTheEnd(t *testing.T) {
	for name, notice := range map[string]func(w *world, stop func()){
		"when the object is replaced": func(w *world, _ func()) { w.set("a", "2"); synctest.Wait() },
		"when the object is deleted":  func(w *world, _ func()) { w.delete("a"); synctest.Wait() },
		"after a minute":              func(*world, func()) { time.Sleep(mutationsTick); synctest.Wait() },
		"when the run ends":           func(_ *world, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, reports := twins(), &mutations{}
				i := stopped(t, w, Options[*corev1.ConfigMap]{Mutations: ReportMutations, OnObjectError: reports.add})
				stop := run(t, i)
				if err := i.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				m, _ := i.Store().Get(key("a"))
				i.detector.mu.Lock() // the fault that is looked for is not a race
				m.Annotations = map[string]string{"read": "by me"}
				i.detector.mu.Unlock()
				notice(w, stop)
				if of, found := reports.one(t); of.Key != key("a") || found.Handler != "" || found.Field != "metadata.annotations" || found.Others != 0 {
					t.Errorf("%v", of)
				}
			})
		})
	}
}

func TestALoopOverChangesThatWritesIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := &mutations{}
		i := running(t, twins(), Options[*corev1.ConfigMap]{Mutations: ReportMutations, OnObjectError: reports.add})
		for c := range i.Changes(t.Context()) {
			c.New.Immutable = new(bool)
			break
		}
		if of, found := reports.one(t); found.Handler != "changes" || found.Field != "immutable" {
			t.Errorf("%v", of)
		}
	})
}

func TestADetectorThatIsToPanicDoesSo(t *testing.T) {
	d, err := newDetector[*corev1.ConfigMap](PanicOnMutation, func(*ObjectError) { t.Error("reported") })
	if err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{Data: map[string]string{}}
	d.put(key("a"), "", "1", m)
	d.check()
	m.Data["v"] = "1"
	defer func() {
		if e, ok := recover().(*ObjectError); !ok || e.Stage != StageMutated {
			t.Errorf("panicked with %v", e)
		}
	}()
	d.check()
}

func TestADetectorStopsAfterAHundredReports(t *testing.T) {
	reports := &mutations{}
	d, err := newDetector[*corev1.ConfigMap](ReportMutations, reports.add)
	if err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{}
	d.put(key("a"), "", "1", m)
	for n := range 2 * maxMutations {
		m.Labels = map[string]string{strconv.Itoa(n): ""}
		d.check()
	}
	if len(reports.found) != maxMutations || len(d.held) != 0 {
		t.Errorf("%d reports, %d objects held", len(reports.found), len(d.held))
	}
}

func TestTheEnvironmentDecidesAboutMutationsUnlessTheOptionsDo(t *testing.T) {
	for _, c := range []struct {
		ours, theirs string
		asked, want  MutationPolicy
	}{
		{"", "", MutationsAsEnvironment, IgnoreMutations},
		{"", "true", MutationsAsEnvironment, ReportMutations},
		{"", "nonsense", MutationsAsEnvironment, IgnoreMutations},
		{"ignore", "true", MutationsAsEnvironment, IgnoreMutations},
		{"report", "", MutationsAsEnvironment, ReportMutations},
		{"panic", "false", MutationsAsEnvironment, PanicOnMutation},
		{"panic", "true", IgnoreMutations, IgnoreMutations},
	} {
		t.Setenv(MutationVariable, c.ours)
		t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", c.theirs)
		if got, err := c.asked.resolve(); err != nil || got != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	t.Setenv(MutationVariable, "yes")
	if _, err := New(newWorld(), Options[*corev1.ConfigMap]{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a word that is none: %v", err)
	}
	if _, err := newDetector[*corev1.ConfigMap](PanicOnMutation+1, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("a policy that is none: %v", err)
	}
	if _, err := newDetector[string](ReportMutations, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("objects that cannot be copied: %v", err)
	}
	t.Setenv(MutationVariable, "report")
	if d, err := newDetector[string](MutationsAsEnvironment, nil); d != nil || err != nil {
		t.Errorf("objects that cannot be copied, by the environment: %v, %v", d, err)
	}
}

func TestADifferenceIsNamedByItsPath(t *testing.T) {
	first := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}, CreationTimestamp: metav1.Unix(7, 0)},
		Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{}, Containers: []corev1.Container{{}, {
			Command: []string{"a"}, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": quantities.MustParse("1000m")}}}},
			Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}},
	}
	for want, write := range map[string]func(p *corev1.Pod){
		"": func(p *corev1.Pod) {
			q := p.Spec.Containers[1].Resources.Limits["cpu"]
			_ = q.String() // keeps a result
			p.Spec.Containers[1].Resources.Limits["cpu"] = q
		},
		"kind":                                     func(p *corev1.Pod) { p.Kind = "Pod" },
		"metadata.labels[app]":                     func(p *corev1.Pod) { p.Labels["app"] = "b" },
		"metadata.labels[z]":                       func(p *corev1.Pod) { p.Labels["z"] = "b" },
		"metadata.annotations":                     func(p *corev1.Pod) { p.Annotations = map[string]string{} },
		"metadata.creationTimestamp":               func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(8, 0) },
		"metadata.finalizers":                      func(p *corev1.Pod) { p.Finalizers = []string{""} },
		"spec.securityContext":                     func(p *corev1.Pod) { p.Spec.SecurityContext = nil },
		"spec.securityContext.fsGroup":             func(p *corev1.Pod) { p.Spec.SecurityContext.FSGroup = new(int64) },
		"spec.containers[1].command[0]":            func(p *corev1.Pod) { p.Spec.Containers[1].Command[0] = "b" },
		"spec.containers[1].resources.limits[cpu]": func(p *corev1.Pod) { p.Spec.Containers[1].Resources.Limits["cpu"] = quantities.MustParse("2") },
		"spec.volumes[0].emptyDir.medium":          func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir.Medium = "Memory" },
	} {
		p := first.DeepCopy()
		write(p)
		got, differs := difference("", reflect.ValueOf(p), reflect.ValueOf(first))
		if differs != (want != "") || differs && got != want {
			t.Errorf("%q (%v), want %q", got, differs, want)
		}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(first)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	before := u.DeepCopy()
	if got, differs := difference("", reflect.ValueOf(u), reflect.ValueOf(before)); differs {
		t.Errorf("a copy differs in %q", got)
	}
	object["spec"].(map[string]any)["containers"].([]any)[1].(map[string]any)["command"].([]any)[0] = int64(7)
	if got, _ := difference("", reflect.ValueOf(u), reflect.ValueOf(before)); got != "spec.containers[1].command[0]" {
		t.Errorf("unstructured: %q", got)
	}
}
