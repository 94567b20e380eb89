package apiservertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"heliograph.example/apiserver/fault"
)

// History is a run of writes and faults, one after the other. It is data: made
// by [Random] or read by [ParseHistory], run by [History.Replay].
type History struct {
	// Seed is what [Random] made it of; 0 if it was written by hand.
	Seed uint64
	// Steps are what happens, in order.
	Steps []Step
}

// Action is what a [Step] does.
type Action string

const (
	// Write creates the object of the step, or changes the one that is there
	// to have what the object has (a JSON merge patch), status included.
	Write Action = "write"
	// Delete deletes the object of the step, if it is there.
	Delete Action = "delete"
	// Drop ends all watches of the kind of the step's object.
	Drop Action = "drop"
	// Compact forgets the history of the server.
	Compact Action = "compact"
	// Break adds the fault of the step to the script.
	Break Action = "break"
	// Mend ends all faults.
	Mend Action = "mend"
)

// Step is one step of a [History].
type Step struct {
	// After is the pause before the step.
	After metav1.Duration `json:"after"`
	// Do says what is done.
	Do Action `json:"do"`
	// Object is what Write, Delete and Drop are about.
	Object *unstructured.Unstructured `json:"object,omitempty"`
	// Fault is what Break adds.
	Fault *fault.Fault `json:"fault,omitempty"`
}

// seedMark begins the line of the seed in the text of a history. Other lines
// that begin with # are comments.
const seedMark = "# seed "

// String is the text of the history, a line for each step, as [ParseHistory]
// reads it.
func (h History) String() string {
	var b strings.Builder
	if h.Seed != 0 {
		fmt.Fprintf(&b, "%s%d\n", seedMark, h.Seed)
	}
	for _, step := range h.Steps {
		line, err := step.text()
		if err != nil {
			line = fmt.Appendf(nil, "# a step to %s has no text: %v", step.Do, err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// text is the step as JSON, without the zero values of its fault.
func (s Step) text() ([]byte, error) {
	var content struct {
		Step
		Fault map[string]any `json:"fault,omitempty"`
	}
	content.Step = s
	if s.Fault != nil {
		data, err := json.Marshal(s.Fault)
		if err != nil {
			return nil, err
		}
		if err := utiljson.Unmarshal(data, &content.Fault); err != nil {
			return nil, err
		}
		content.Fault, _ = pruned(content.Fault).(map[string]any)
	}
	return json.Marshal(content)
}

// pruned returns a value of JSON without what is empty, and nil if it is.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			if v[key] = pruned(element); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case string, int64, float64, bool:
		if v == "" || v == int64(0) || v == float64(0) || v == false {
			return nil
		}
	}
	return value
}

// ParseHistory reads the text of a history. Steps may be left out of the text of
// one: what is left runs all the same. The error names the line.
func ParseHistory(text string) (History, error) {
	var h History
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if seed, ok := strings.CutPrefix(line, seedMark); ok {
			var err error
			if h.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
				return History{}, fmt.Errorf("line %d of a history: %w", i+1, err)
			}
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return History{}, fmt.Errorf("line %d of a history: %w", i+1, err)
		}
		h.Steps = append(h.Steps, step)
	}
	return h, nil
}

func parseStep(line string) (Step, error) {
	var step Step
	decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&step); err != nil {
		return Step{}, err
	}
	return step, step.check()
}

// check tells what is wrong with a step, if anything.
func (s Step) check() error {
	switch s.Do {
	case Write, Delete, Drop:
		if s.Object == nil {
			return fmt.Errorf("a step to %s needs an object", s.Do)
		}
	case Break:
		if s.Fault == nil {
			return fmt.Errorf("a step to %s needs a fault", s.Do)
		}
	case Compact, Mend:
	default:
		return fmt.Errorf("unknown step %q", s.Do)
	}
	return nil
}
