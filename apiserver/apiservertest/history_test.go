package apiservertest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

var configMapsResource = schema.GroupResource{Resource: "configmaps"}

// states are config maps, each with two states.
func states(n int) string {
	var b strings.Builder
	for i := range n {
		for _, value := range []string{"odd", "even"} {
			fmt.Fprintf(&b, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d, namespace: n%d, labels: {value: %s}}}\n---\n", i, i%3, value)
		}
	}
	return b.String()
}

func TestASeedMakesAHistory(t *testing.T) {
	plan := apiservertest.Plan{Manifests: states(5), Steps: 300, Every: time.Minute}
	one, err := apiservertest.Random(7, plan)
	if err != nil {
		t.Fatal(err)
	}
	same, err := apiservertest.Random(7, plan)
	if err != nil {
		t.Fatal(err)
	}
	other, err := apiservertest.Random(8, plan)
	if err != nil {
		t.Fatal(err)
	}
	if one.String() != same.String() {
		t.Error("the same seed gave another history")
	}
	if one.String() == other.String() {
		t.Error("another seed gave the same history")
	}
	count := make(map[apiservertest.Action]int)
	var length time.Duration
	for _, step := range one.Steps {
		count[step.Do]++
		length += step.After.Duration
	}
	for _, do := range []apiservertest.Action{apiservertest.Write, apiservertest.Delete, apiservertest.Drop, apiservertest.Compact, apiservertest.Break, apiservertest.Mend} {
		if count[do] == 0 {
			t.Errorf("no step in 300 is to %s", do)
		}
	}
	if length < 200*time.Minute || length > 400*time.Minute {
		t.Errorf("300 steps, one a minute, take %v", length)
	}
	plan.Faults = []fault.Fault{}
	calm, err := apiservertest.Random(7, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range calm.Steps {
		if step.Do != apiservertest.Write && step.Do != apiservertest.Delete && step.Do != apiservertest.Mend {
			t.Errorf("without faults, a step is to %s", step.Do)
		}
	}
}

func TestTheTextOfAHistoryIsTheHistory(t *testing.T) {
	h, err := apiservertest.Random(7, apiservertest.Plan{Manifests: manifests, Steps: 300, Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	text := h.String()
	parsed, err := apiservertest.ParseHistory("\n# a comment\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Seed != 7 || len(parsed.Steps) != len(h.Steps) {
		t.Fatalf("parsed: seed %d with %d steps", parsed.Seed, len(parsed.Steps))
	}
	if again := parsed.String(); again != text {
		t.Errorf("parsed, it is\n%s\nand was\n%s", again, text)
	}
	for i, step := range parsed.Steps {
		if step.Fault != nil && *step.Fault != *h.Steps[i].Fault {
			t.Errorf("step %d: the fault is %+v, and was %+v", i, *step.Fault, *h.Steps[i].Fault)
		}
	}
}

func TestWhatIsNoHistoryIsRefusedWithItsLine(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            "write it",
		"an unknown step":    `{"after":"0s","do":"explode"}`,
		"an unknown field":   `{"after":"0s","do":"mend","until":"1s"}`,
		"no object":          `{"after":"0s","do":"write"}`,
		"no fault":           `{"after":"0s","do":"break"}`,
		"a pause of nothing": `{"after":"long","do":"mend"}`,
		"no seed":            "# seed seven",
	} {
		if _, err := apiservertest.ParseHistory("# a comment\n" + text); err == nil || !strings.Contains(err.Error(), "line 2 of a history: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, manifests := range []string{"", "# nothing", "{kind: Pod}"} {
		if _, err := apiservertest.Random(1, apiservertest.Plan{Manifests: manifests}); err == nil {
			t.Errorf("a history of %q was made", manifests)
		}
	}
}

// outcome replays a history in a bubble and returns what is there afterwards.
func outcome(t *testing.T, h apiservertest.History) (objects map[string]string) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		h.Replay(t, server)
		list, err := server.Client().CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		objects = make(map[string]string)
		for i := range list.Items {
			o := &list.Items[i]
			objects[o.Namespace+"/"+o.Name] = fmt.Sprint(o.ResourceVersion, o.Labels, o.Annotations)
		}
	})
	return objects
}

func TestAReplayDoesTheSameAgain(t *testing.T) {
	h, err := apiservertest.Random(3, apiservertest.Plan{Manifests: states(10), Every: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	first, second := outcome(t, h), outcome(t, h)
	if len(first) < 3 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("first %v\nthen  %v", first, second)
	}
	// What is left after cutting steps out runs, too.
	h.Steps = h.Steps[len(h.Steps)/2:]
	if len(outcome(t, h)) == 0 {
		t.Error("nothing is there after the second half")
	}
}

func TestAFailureTellsTheHistory(t *testing.T) {
	h, err := apiservertest.ParseHistory(`# seed 12
{"after":"0s","do":"break","fault":{"Verb":"patch","Code":503}}
{"after":"1s","do":"write","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		failed, log := record(t, func(tb testing.TB) {
			h.Replay(tb, apiservertest.Start(tb, apiserver.Options{}))
		})
		for _, want := range []string{"step 2 of the history, write: tried 20 times: ", "for apiservertest.ParseHistory:\n" + h.String()} {
			if !failed || !strings.Contains(log, want) {
				t.Errorf("failed %v, and %q is not in the log:\n%s", failed, want, log)
			}
		}
	})
}

func TestAnInformerSurvivesHistories(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h, err := apiservertest.Random(seed, apiservertest.Plan{Manifests: states(20), Every: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				server := apiservertest.Start(t, apiserver.Options{})
				store := configMaps(t, server, informer.Scope{LabelSelector: "value=odd"})
				run(t, store)
				h.Replay(t, server)
				time.Sleep(5 * time.Minute) // longer than any back-off
				list, err := server.Client().CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{LabelSelector: "value=odd"})
				if err != nil {
					t.Fatal(err)
				}
				equal(t, store.Store(), list.Items)
			})
		})
	}
}
