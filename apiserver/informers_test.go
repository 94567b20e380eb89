package apiserver_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/fault"
)

// detector makes client-go read the result of each streaming list again by an
// exact list, and panic if they differ. It is read when client-go is loaded.
const detector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"

// TestClientGosOwnDetectorFindsNoInconsistency runs the informer tests of this
// file again in a process with the detector on.
func TestClientGosOwnDetectorFindsNoInconsistency(t *testing.T) {
	if os.Getenv(detector) != "" {
		t.Skip("this is that process")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInformers", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), detector+"=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestInformersFollowTheServer/") {
		t.Fatalf("the tests did not run:\n%s", out)
	}
}

// isList reports whether a request is a plain list.
func isList(r endpoints.Request) bool { return r.Verb == "list" }

func TestInformersFollowTheServer(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		c, ctx := client(t, s, encoding), t.Context()
		for i := range 20 {
			if _, err := c.CoreV1().ConfigMaps(fmt.Sprint("ns", i%3)).Create(ctx, configMap(fmt.Sprint("m", i)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		deployments := c.AppsV1().Deployments("a")
		d, err := deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(c, 0)
		maps := factory.Core().V1().ConfigMaps().Informer()
		deployed := factory.Apps().V1().Deployments().Informer()
		events := make(chan string, 100)
		if _, err := deployed.AddEventHandler(record(events)); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		defer factory.Shutdown()
		defer close(stop)
		synced(t, maps, deployed)
		if n := len(maps.GetStore().List()); n != 20 {
			t.Errorf("%d config maps in the store, want 20", n)
		}
		d.Status.Replicas = 3
		if _, err := deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := deployments.Delete(ctx, "d", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"add d", "update d", "delete d"} {
			if got := receive(t, events); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		if os.Getenv(detector) == "" && slices.ContainsFunc(s.Requests(), isList) {
			t.Errorf("an informer fell back from the streaming list: %+v", s.Requests())
		}
		if os.Getenv(detector) != "" && !slices.ContainsFunc(s.Requests(), isList) {
			t.Error("the detector has not compared anything")
		}
	})
}

// record tells the events of an informer by name.
func record(events chan<- string) cache.ResourceEventHandler {
	name := func(obj any) string { return obj.(metav1.Object).GetName() }
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- "add " + name(obj) },
		UpdateFunc: func(_, obj any) { events <- "update " + name(obj) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			events <- "delete " + name(obj)
		},
	}
}

func receive(t *testing.T, events <-chan string) string {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 seconds")
	}
	panic("unreachable")
}

func synced(t *testing.T, informers ...cache.SharedIndexInformer) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for _, i := range informers {
		select {
		case <-i.HasSyncedChecker().Done():
		case <-deadline:
			t.Fatal("not synced within 30 seconds")
		}
	}
}

func TestInformersRecoverFromFaults(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault.Fault
		// strike is done once the informer has synced.
		strike func(t *testing.T, s *apiserver.Server)
	}{
		"no streaming lists": {faults: []fault.Fault{{Streaming: true, Code: http.StatusUnprocessableEntity}}},
		"a reset while the initial events come": {faults: []fault.Fault{
			{Streaming: true, Times: 1, Cut: fault.CutReset, AfterEvents: 2}}},
		"an end while the initial events come": {faults: []fault.Fault{
			{Streaming: true, Times: 1, Cut: fault.CutEnd, AfterEvents: 2}}},
		"a server that is overloaded at first": {faults: []fault.Fault{
			{Verb: "watch", Times: 1, Code: http.StatusTooManyRequests, RetryAfter: time.Second}}},
		"an internal error at first": {faults: []fault.Fault{{Verb: "watch", Times: 1, Code: http.StatusInternalServerError}}},
		"watches that end":           {strike: func(_ *testing.T, s *apiserver.Server) { s.DropWatches(configMaps) }},
		"a watch that ends and is too old": {strike: func(t *testing.T, s *apiserver.Server) {
			if err := s.Compact(t.Context()); err != nil {
				t.Error(err)
			}
			s.DropWatches(configMaps)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := &fault.Script{}
			if err := script.Add(c.faults...); err != nil {
				t.Fatal(err)
			}
			s := start(t, apiserver.Options{Faults: script})
			clientset, ctx := client(t, s, ""), t.Context()
			maps := clientset.CoreV1().ConfigMaps("a")
			for i := range 5 {
				if _, err := maps.Create(ctx, configMap(fmt.Sprint("m", i)), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			factory := informers.NewSharedInformerFactory(clientset, 0)
			informer := factory.Core().V1().ConfigMaps().Informer()
			events := make(chan string, 100)
			if _, err := informer.AddEventHandler(record(events)); err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			factory.Start(stop)
			defer factory.Shutdown()
			defer close(stop)
			synced(t, informer)
			for range 5 {
				receive(t, events)
			}
			if c.strike != nil {
				c.strike(t, s)
			}
			if err := maps.Delete(ctx, "m0", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, events); got != "delete m0" {
				t.Errorf("got %q", got)
			}
			if got := informer.GetStore().ListKeys(); len(got) != 4 {
				t.Errorf("the store has %v", got)
			}
		})
	}
}

// The initial phase of a pod is what a scheduler looks for.
func TestPodsBeginPendingAndEndGracefullyOnlyWhenAsked(t *testing.T) {
	s := start(t, apiserver.Options{})
	pods, ctx := client(t, s, "").CoreV1().Pods("a"), t.Context()
	seconds := int64(30)
	for name, c := range map[string]struct {
		spec  corev1.PodSpec
		opts  metav1.DeleteOptions
		stays bool
	}{
		"unscheduled":      {corev1.PodSpec{TerminationGracePeriodSeconds: &seconds}, metav1.DeleteOptions{}, false},
		"scheduled":        {corev1.PodSpec{NodeName: "n"}, metav1.DeleteOptions{}, false},
		"graceful":         {corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: &seconds}, metav1.DeleteOptions{}, true},
		"asked":            {corev1.PodSpec{NodeName: "n"}, metav1.DeleteOptions{GracePeriodSeconds: &seconds}, true},
		"graceful-forced":  {corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: &seconds}, *metav1.NewDeleteOptions(0), false},
		"graceful-and-old": {corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: &seconds}, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: c.spec, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, metav1.CreateOptions{})
			if err != nil || pod.Status.Phase != corev1.PodPending || pod.Generation != 1 {
				t.Fatalf("%v, %v", pod, err)
			}
			if err := pods.Delete(ctx, name, c.opts); err != nil {
				t.Fatal(err)
			}
			pod, err = pods.Get(ctx, name, metav1.GetOptions{})
			if stays := err == nil; stays != c.stays || stays && (pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != seconds) {
				t.Errorf("%v, %v", pod, err)
			}
		})
	}
}
