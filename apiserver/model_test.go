package apiserver_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
)

// TestWatchersPutTogetherWhatExactListsShow lets clients watch while others
// write at random, watches are dropped, cut and refused, and history is
// compacted. Whenever a client knows its state to be complete at a version, that
// state must be the one of an exact list.
func TestWatchersPutTogetherWhatExactListsShow(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { model(t, seed) })
		})
	}
}

var (
	modelMaps   = corev1.SchemeGroupVersion.WithResource("configmaps")
	modelColors = []string{"red", "blue", "green"}
	// modelSelections are what clients watch, with the namespace first.
	modelSelections = []struct{ namespace, labels, fields string }{
		{"", "", ""}, {"a", "", ""}, {"", "color=red", ""}, {"a", "color in (red,blue)", ""},
		{"b", "", "metadata.name=1"}, {"", "color!=green", ""}, {"", "", "metadata.namespace=a"},
	}
)

func model(t *testing.T, seed uint64) {
	s := apiservertest.Start(t, apiserver.Options{Resources: []apiserver.Resource{widgets}})
	var goal atomic.Uint64
	var watching, writing sync.WaitGroup
	mirrors := modelMirrors(t, s, &goal, seed)
	for _, m := range mirrors {
		watching.Go(m.run)
	}
	for i := range uint64(3) {
		writing.Go(func() { writeAtRandom(t, s, rand.New(rand.NewPCG(seed, 100+i))) })
	}
	disturb(t, s, rand.New(rand.NewPCG(seed, 200)))
	writing.Wait()
	s.Faults.Clear()
	goal.Store(revision(t, s))
	watching.Wait()
	compared, resumed, begun := 0, 0, 0
	for _, m := range mirrors {
		compared, resumed, begun = compared+m.compared, resumed+m.resumed, begun+m.begun
	}
	// The test is worth something only if all of this has happened.
	if compared < 4*len(mirrors) || resumed < len(mirrors) || begun < len(mirrors)+3 {
		t.Errorf("%d clients compared %d times, resumed %d times and began %d times", len(mirrors), compared, resumed, begun)
	}
}

// modelMirrors are clients of several kinds, each with a selection.
func modelMirrors(t *testing.T, s *apiservertest.Server, goal *atomic.Uint64, seed uint64) []*modelClient {
	protobuf := s.Config()
	protobuf.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	var all []*modelClient
	add := func(r reader, labels, fields string) {
		all = append(all, &modelClient{
			t: t, reader: r, options: metav1.ListOptions{LabelSelector: labels, FieldSelector: fields},
			rnd: rand.New(rand.NewPCG(seed, uint64(len(all)))), goal: goal,
		})
	}
	for _, sel := range modelSelections {
		maps, things := typed.CoreV1().ConfigMaps(sel.namespace), untyped.Resource(widgetGVR).Namespace(sel.namespace)
		add(reader{listOf(maps.List), maps.Watch}, sel.labels, sel.fields)
		add(reader{listOf(things.List), things.Watch}, sel.labels, sel.fields)
	}
	add(reader{listOf(untyped.Resource(widgetGVR).List), untyped.Resource(widgetGVR).Watch}, "", "spec.color=blue")
	return all
}

// disturb drops and breaks watches, and compacts, while writers write.
func disturb(t *testing.T, s *apiservertest.Server, rnd *rand.Rand) {
	faults := []fault.Fault{
		{Verb: "watch", Times: 3, Cut: fault.CutReset, AfterEvents: 1},
		{Verb: "watch", Times: 3, Cut: fault.CutFrame, AfterEvents: 2},
		{Verb: "watch", Times: 3, Cut: fault.CutEnd, AfterEvents: 3},
		{Verb: "watch", Times: 3, Code: http.StatusServiceUnavailable},
		{Verb: "list", Times: 2, Code: http.StatusServiceUnavailable},
		{Verb: "watch", Times: 2, Pause: time.Second},
	}
	for range 24 {
		time.Sleep(time.Duration(rnd.Int64N(int64(time.Second))))
		switch rnd.IntN(4) {
		case 0:
			s.DropWatches(modelMaps.GroupResource())
		case 1:
			s.DropWatches(widgetGVR.GroupResource())
		case 2:
			if err := s.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		case 3:
			if err := s.Faults.Add(faults[rnd.IntN(len(faults))]); err != nil {
				t.Error(err)
			}
		}
	}
}

// writeAtRandom creates, changes and deletes a few objects of both kinds.
func writeAtRandom(t *testing.T, s *apiservertest.Server, rnd *rand.Rand) {
	collections := []struct {
		gvr     schema.GroupVersionResource
		gvk     schema.GroupVersionKind
		content string
	}{
		{modelMaps, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "data"}, {widgetGVR, widgetKind, "spec"},
	}
	for range 120 {
		time.Sleep(time.Duration(rnd.Int64N(int64(200 * time.Millisecond))))
		c := collections[rnd.IntN(2)]
		name, color := fmt.Sprint(rnd.IntN(4)), modelColors[rnd.IntN(3)]
		one := s.Dynamic().Resource(c.gvr).Namespace([]string{"a", "b"}[rnd.IntN(2)])
		var err error
		switch rnd.IntN(5) {
		case 0, 1:
			u := &unstructured.Unstructured{Object: map[string]any{c.content: map[string]any{"color": color}}}
			u.SetGroupVersionKind(c.gvk)
			u.SetName(name)
			u.SetLabels(map[string]string{"color": color})
			_, err = one.Create(t.Context(), u, metav1.CreateOptions{})
		case 2, 3:
			patch := fmt.Sprintf(`{"metadata":{"labels":{"color":%q}},%q:{"color":%q}}`, color, c.content, color)
			_, err = one.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		case 4:
			err = one.Delete(t.Context(), name, metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

// reader lists and watches a collection.
type reader struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// listOf makes the list method of any client one of a reader.
func listOf[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) { return list(ctx, opts) }
}

// modelClient is a client that keeps a state by watching.
type modelClient struct {
	t *testing.T
	reader
	options metav1.ListOptions // the selectors
	rnd     *rand.Rand
	goal    *atomic.Uint64 // the version to arrive at; 0 until it is known

	// state maps keys to versions. The client has been told everything up to
	// version; empty means that it must begin anew.
	state                    map[string]string
	version                  string
	compared, resumed, begun int
}

func (m *modelClient) run() {
	for !m.arrived() {
		m.follow()
		m.compare(false)
	}
	m.compare(true)
}

// arrived reports whether the client has come as far as it is to come.
func (m *modelClient) arrived() bool {
	version, err := strconv.ParseUint(m.version, 10, 64)
	return err == nil && m.goal.Load() > 0 && version >= m.goal.Load()
}

// follow opens one watch and reads it for a while.
func (m *modelClient) follow() {
	w, err := m.open()
	if apierrors.IsResourceExpired(err) {
		m.version = ""
	}
	if err != nil {
		time.Sleep(m.upTo(time.Second))
		return
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() { // so that its goroutine can end
		}
	}()
	life := m.upTo(3 * time.Second)
	if m.goal.Load() > 0 {
		life = 3 * time.Minute // there will be a bookmark
	}
	for end := time.After(life); !m.arrived(); {
		select {
		case e, ok := <-w.ResultChan():
			if !ok || !m.apply(e) {
				return
			}
		case <-end:
			return
		}
	}
}

func (m *modelClient) upTo(d time.Duration) time.Duration {
	return time.Duration(m.rnd.Int64N(int64(d)))
}

// open resumes, or begins with a streaming list, or with a list and a watch.
func (m *modelClient) open() (watch.Interface, error) {
	opts := m.options
	opts.AllowWatchBookmarks = true
	if m.version != "" {
		m.resumed++
		opts.ResourceVersion = m.version
		return m.watch(m.t.Context(), opts)
	}
	m.begun++
	m.state = make(map[string]string)
	if m.rnd.IntN(2) == 0 {
		yes := true
		opts.SendInitialEvents, opts.ResourceVersionMatch = &yes, metav1.ResourceVersionMatchNotOlderThan
		return m.watch(m.t.Context(), opts)
	}
	if err := m.begin(); err != nil {
		return nil, err
	}
	opts.ResourceVersion = m.version
	return m.watch(m.t.Context(), opts)
}

// begin lists the state in pages.
func (m *modelClient) begin() error {
	opts := m.options
	opts.Limit = 2
	for {
		list, err := m.list(m.t.Context(), opts)
		if err != nil {
			return err
		}
		page, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		maps.Copy(m.state, m.versions(list))
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			m.version = page.GetResourceVersion()
			return nil
		}
	}
}

// versions are the keys and versions of a list.
func (m *modelClient) versions(list runtime.Object) map[string]string {
	versions := make(map[string]string)
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		o, err := meta.Accessor(obj)
		if err == nil {
			versions[o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
		}
		return err
	})
	if err != nil {
		m.t.Error(err)
	}
	return versions
}

// apply takes one event, and reports whether the watch goes on.
func (m *modelClient) apply(e watch.Event) bool {
	if e.Type == watch.Error {
		// All but the 410 come from frames that were cut.
		if apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			m.version = ""
		}
		return false
	}
	o, err := meta.Accessor(e.Object)
	if err != nil {
		m.t.Error(err)
		return false
	}
	k, version := o.GetNamespace()+"/"+o.GetName(), o.GetResourceVersion()
	// Before the bookmark that ends it, a streaming list has no version.
	if m.version != "" {
		order, err := resourceversion.CompareResourceVersion(version, m.version)
		if err != nil || order < 0 || order == 0 && e.Type != watch.Bookmark {
			m.t.Errorf("%s of %s at %s after %s: %v", e.Type, k, version, m.version, err)
		}
		m.version = version
	}
	_, known := m.state[k]
	switch {
	case e.Type == watch.Bookmark:
		if m.version == "" && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			m.t.Errorf("a bookmark at %s before the end of the initial events", version)
		}
		m.version = version
		return true
	case known != (e.Type != watch.Added):
		m.t.Errorf("%s of %s, which was there: %v", e.Type, k, known)
	}
	if e.Type == watch.Deleted {
		delete(m.state, k)
	} else {
		m.state[k] = version
	}
	return true
}

// compare compares the state with an exact list at its version, which may have
// been compacted unless the comparison is the last one.
func (m *modelClient) compare(last bool) {
	if m.version == "" {
		return
	}
	opts := m.options
	opts.ResourceVersion, opts.ResourceVersionMatch = m.version, metav1.ResourceVersionMatchExact
	list, err := m.list(m.t.Context(), opts)
	if err != nil {
		if last || !apierrors.IsResourceExpired(err) && !apierrors.IsServiceUnavailable(err) {
			m.t.Errorf("an exact list at %s: %v", m.version, err)
		}
		return
	}
	m.compared++
	if want := m.versions(list); !maps.Equal(m.state, want) {
		m.t.Errorf("%+v at %s: the watcher has\n%v\nthe server\n%v", m.options, m.version, sorted(m.state), sorted(want))
	}
}

func sorted(state map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(state)) {
		all = append(all, k+"@"+state[k])
	}
	return all
}
