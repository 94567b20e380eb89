package fault_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	pods    = schema.GroupResource{Resource: "pods"}
	secrets = schema.GroupResource{Resource: "secrets"}
)

func TestTheZeroScriptStrikesNothing(t *testing.T) {
	var script fault.Script
	if f, ok := script.Strike(fault.Request{Verb: "list", Resource: pods}); ok {
		t.Fatalf("struck: %+v", f)
	}
	if f, ok := (*fault.Script)(nil).Strike(fault.Request{Verb: "list"}); ok {
		t.Fatalf("a nil script struck: %+v", f)
	}
}

func TestAFaultStrikesWhatItNames(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   fault.Fault
		request fault.Request
		want    bool
	}{
		{"any request", fault.Fault{Code: 500}, fault.Request{Verb: "get", Resource: pods, Namespace: "a"}, true},
		{"its verb", fault.Fault{Verb: "list", Code: 500}, fault.Request{Verb: "list", Resource: pods}, true},
		{"no other verb", fault.Fault{Verb: "list", Code: 500}, fault.Request{Verb: "watch", Resource: pods}, false},
		{"its resource", fault.Fault{Resource: pods, Code: 500}, fault.Request{Verb: "get", Resource: pods}, true},
		{"no other resource", fault.Fault{Resource: pods, Code: 500}, fault.Request{Verb: "get", Resource: secrets}, false},
		{"its namespace", fault.Fault{Namespace: "a", Code: 500}, fault.Request{Verb: "get", Namespace: "a"}, true},
		{"not all namespaces when it names one", fault.Fault{Namespace: "a", Code: 500}, fault.Request{Verb: "list"}, false},
		{"its client", fault.Fault{Client: "manager", Code: 500}, fault.Request{Verb: "get", Client: "kube-controller-manager/v1.37"}, true},
		{"no other client", fault.Fault{Client: "manager", Code: 500}, fault.Request{Verb: "get", Client: "kubectl/v1.37"}, false},
		{"streaming lists", fault.Fault{Streaming: true, Code: 422}, fault.Request{Verb: "watch", Streaming: true}, true},
		{"no plain watch when it is for streaming lists", fault.Fault{Streaming: true, Code: 422}, fault.Request{Verb: "watch"}, false},
		{"no list when it cuts watches", fault.Fault{Cut: fault.CutEnd}, fault.Request{Verb: "list"}, false},
		{"writes whose answers it loses", fault.Fault{Verb: "create", Cut: fault.CutReset}, fault.Request{Verb: "create"}, true},
		{"all that it can cut", fault.Fault{Cut: fault.CutStall}, fault.Request{Verb: "patch"}, true},
		{"no list when it cuts after events", fault.Fault{Cut: fault.CutStall, AfterEvents: 1}, fault.Request{Verb: "list"}, false},
		{"no list when it is slow with events", fault.Fault{Pause: 1}, fault.Request{Verb: "list"}, false},
		{"no list when it holds back the end of one", fault.Fault{NoInitialEnd: true}, fault.Request{Verb: "list"}, false},
		{"no list when it replays events", fault.Fault{Illegal: fault.IllegalReplay}, fault.Request{Verb: "list"}, false},
		{"no get when it holds back bookmarks", fault.Fault{NoBookmarks: true}, fault.Request{Verb: "get"}, false},
		{"watches when it cuts them", fault.Fault{Cut: fault.CutReset, AfterEvents: 2}, fault.Request{Verb: "watch"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var script fault.Script
			if err := script.Add(c.fault); err != nil {
				t.Fatal(err)
			}
			got, ok := script.Strike(c.request)
			if ok != c.want {
				t.Fatalf("struck = %v, want %v", ok, c.want)
			}
			if ok && got != c.fault {
				t.Fatalf("struck with %+v, want %+v", got, c.fault)
			}
		})
	}
}

func TestFaultsStrikeInOrderAndAreUsedUp(t *testing.T) {
	var script fault.Script
	err := script.Add(
		fault.Fault{Verb: "list", Times: 2, Code: 503},
		fault.Fault{Verb: "list", Times: 1, Code: 429},
		fault.Fault{Verb: "list", Resource: pods, Code: 500},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{503, 503, 429, 500, 500, 500} {
		if n := len(script.Unstruck()); n != []int{3, 2, 2, 1, 0, 0}[i] {
			t.Errorf("before request %d, %d faults have not struck", i, n)
		}
		f, ok := script.Strike(fault.Request{Verb: "list", Resource: pods})
		if !ok || f.Code != want {
			t.Fatalf("request %d: struck = %v with code %d, want %d", i, ok, f.Code, want)
		}
	}
	if f, ok := script.Strike(fault.Request{Verb: "list", Resource: secrets}); ok {
		t.Fatalf("secrets struck: %+v", f)
	}
	script.Clear()
	if f, ok := script.Strike(fault.Request{Verb: "list", Resource: pods}); ok {
		t.Fatalf("struck after Clear: %+v", f)
	}
}

func TestAddRefusesFaultsThatMakeNoSense(t *testing.T) {
	for name, f := range map[string]fault.Fault{
		"nothing":                       {},
		"an unknown verb":               {Verb: "LIST", Code: 500},
		"negative times":                {Times: -1, Code: 500},
		"a negative delay":              {Delay: -time.Second},
		"a code of success":             {Code: 200},
		"a code beyond HTTP":            {Code: 600},
		"retry-after without a code":    {Delay: time.Second, RetryAfter: time.Second},
		"retry-after of half a second":  {Code: 429, RetryAfter: time.Second / 2},
		"an unknown cut":                {Cut: "off"},
		"an error event without code":   {Cut: fault.CutError},
		"a cut beside an answer":        {Cut: fault.CutEnd, Code: 500},
		"after-events without a cut":    {AfterEvents: 1, Code: 500},
		"negative after-events":         {AfterEvents: -1, Cut: fault.CutEnd},
		"a list that ends cleanly":      {Verb: "list", Cut: fault.CutEnd},
		"an error event in a list":      {Verb: "list", Cut: fault.CutError, Code: 500},
		"a list cut after events":       {Verb: "list", Cut: fault.CutReset, AfterEvents: 1},
		"a reset beside an answer":      {Cut: fault.CutReset, Code: 500},
		"events of an answer":           {Pause: time.Second, Code: 500},
		"a negative pause":              {Pause: -time.Second},
		"a slow list":                   {Verb: "list", Pause: time.Second},
		"negative retry-after":          {Code: 429, RetryAfter: -time.Second},
		"an unknown illegal mode":       {Illegal: "lie"},
		"an illegal list":               {Verb: "list", Illegal: fault.IllegalSwap},
		"illegal and cut":               {Illegal: fault.IllegalSwap, Cut: fault.CutEnd},
		"an illegal answer":             {Illegal: fault.IllegalSwap, Code: 500},
		"a list without an end":         {Verb: "list", NoInitialEnd: true},
		"a list without bookmarks":      {Verb: "list", NoBookmarks: true},
		"a streaming fault for updates": {Verb: "update", Streaming: true, Code: 422},
	} {
		t.Run(name, func(t *testing.T) {
			var script fault.Script
			good := fault.Fault{Code: 500}
			if err := script.Add(good, f); !errors.Is(err, fault.ErrInvalid) {
				t.Fatalf("Add returned %v", err)
			}
			if f, ok := script.Strike(fault.Request{Verb: "get"}); ok {
				t.Fatalf("the good fault beside it was added: %+v", f)
			}
		})
	}
}

func TestACountIsExactUnderConcurrency(t *testing.T) {
	var script fault.Script
	if err := script.Add(fault.Fault{Times: 50, Code: 500}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	struck := 0
	for range 10 {
		wg.Go(func() {
			for range 20 {
				if _, ok := script.Strike(fault.Request{Verb: "get"}); ok {
					mu.Lock()
					struck++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if struck != 50 {
		t.Fatalf("struck %d times, want 50", struck)
	}
}
