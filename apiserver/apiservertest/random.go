package apiservertest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"heliograph.example/apiserver/fault"
)

// tickAnnotation is changed by every write of a random history, so that each is
// a change.
const tickAnnotation = Agent + "/step"

// Weights of what a random step does, of 100: the rest are writes.
const (
	weightDelete  = 20
	weightFault   = 12
	weightDrop    = 4
	weightCompact = 2
)

// Plan says what a random history is made of.
type Plan struct {
	// Manifests, as for [Load], are the objects that come and go. Documents
	// of one kind, namespace and name are states of one object, between which
	// it changes. All of them should be objects that the server accepts.
	Manifests string
	// Steps is how many steps there are; 0 means 200.
	Steps int
	// Every is the mean of the pauses between steps; a third of the steps
	// have none. 0 means no pauses at all.
	Every time.Duration
	// Faults are what goes wrong, one at a time and chosen by chance. Nil
	// means [DefaultFaults]; an empty slice means no faults, and then no
	// watches are dropped either and nothing is compacted. A fault without
	// Times is there until the end of the history. Faults of writes should
	// name the Client of the program under test: the history itself creates,
	// patches and deletes, as the client [Agent], and tries only so often.
	Faults []fault.Fault
}

// DefaultFaults are those of a [Plan] that has none of its own: what a client
// that lists and watches must survive on any server, each a few times at most.
func DefaultFaults() []fault.Fault {
	return []fault.Fault{
		{Verb: "watch", Times: 1, Cut: fault.CutEnd},
		{Verb: "watch", Times: 1, Cut: fault.CutEnd, AfterEvents: 2},
		{Verb: "watch", Times: 2, Cut: fault.CutReset, AfterEvents: 1},
		{Verb: "watch", Times: 1, Cut: fault.CutFrame, AfterEvents: 1},
		{Verb: "watch", Times: 1, Cut: fault.CutError, Code: http.StatusGone, AfterEvents: 1},
		{Verb: "watch", Times: 1, Cut: fault.CutError, Code: http.StatusInternalServerError},
		{Verb: "watch", Times: 1, Delay: 20 * time.Second},
		{Verb: "watch", Times: 3, Code: http.StatusServiceUnavailable},
		{Verb: "watch", Times: 2, Code: http.StatusTooManyRequests, RetryAfter: 2 * time.Second},
		{Verb: "watch", Times: 1, Code: http.StatusGone},
		{Verb: "watch", Times: 1, Pause: 2 * time.Second},
		{Verb: "list", Times: 2, Code: http.StatusServiceUnavailable},
		{Verb: "list", Times: 1, Code: http.StatusInternalServerError},
		{Verb: "list", Times: 1, Cut: fault.CutFrame},
	}
}

// Random makes a history of a seed: the same seed and plan give the same
// history. It ends with a [Mend]. The error is about the manifests.
func Random(seed uint64, plan Plan) (History, error) {
	documents, err := parse("manifests", plan.Manifests)
	if err != nil {
		return History{}, err
	}
	if len(documents) == 0 {
		return History{}, fmt.Errorf("a random history needs objects, and the manifests have none")
	}
	if plan.Steps == 0 {
		plan.Steps = 200
	}
	if plan.Faults == nil {
		plan.Faults = DefaultFaults()
	}
	r := random{rand.New(rand.NewPCG(seed, 0)), plan, documents}
	h := History{Seed: seed}
	for i := range plan.Steps {
		h.Steps = append(h.Steps, r.step(i))
	}
	h.Steps = append(h.Steps, Step{Do: Mend})
	return h, nil
}

// random makes the steps of one history.
type random struct {
	*rand.Rand
	plan      Plan
	documents []document
}

func (r random) step(i int) Step {
	var s Step
	if r.plan.Every > 0 && r.IntN(3) > 0 {
		// Two of three steps have three times the half of it on average.
		s.After = metav1.Duration{Duration: time.Duration(r.Int64N(int64(3*r.plan.Every) + 1)).Round(time.Millisecond)}
	}
	object := r.documents[r.IntN(len(r.documents))].object
	kind := r.IntN(100)
	if len(r.plan.Faults) == 0 {
		kind = weightDrop + weightCompact + weightFault + r.IntN(100-weightDrop-weightCompact-weightFault)
	}
	switch {
	case kind < weightDrop:
		s.Do, s.Object = Drop, identity(object)
	case kind < weightDrop+weightCompact:
		s.Do = Compact
	case kind < weightDrop+weightCompact+weightFault:
		f := r.plan.Faults[r.IntN(len(r.plan.Faults))]
		s.Do, s.Fault = Break, &f
	case kind < weightDrop+weightCompact+weightFault+weightDelete:
		s.Do, s.Object = Delete, identity(object)
	default:
		s.Do, s.Object = Write, object.DeepCopy()
		annotations := s.Object.GetAnnotations()
		if annotations == nil {
			annotations = make(map[string]string)
		}
		annotations[tickAnnotation] = strconv.Itoa(i)
		s.Object.SetAnnotations(annotations)
	}
	return s
}

// identity is an object without content.
func identity(object *unstructured.Unstructured) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(object.GroupVersionKind())
	u.SetNamespace(object.GetNamespace())
	u.SetName(object.GetName())
	return u
}
