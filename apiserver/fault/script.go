package fault

import (
	"fmt"
	"sync"
)

// Script is a list of faults; see the package documentation. The zero value
// has none and is ready for use.
type Script struct {
	mu    sync.Mutex
	rules []rule
}

// rule is a fault and how often it has struck.
type rule struct {
	Fault
	struck int
}

// Add appends faults. If one of them makes no sense, an error that wraps
// [ErrInvalid] is returned and none is added.
func (s *Script) Add(faults ...Fault) error {
	rules := make([]rule, 0, len(faults))
	for i, f := range faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fault %d: %w", i, err)
		}
		rules = append(rules, rule{Fault: f})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rules...)
	return nil
}

// Clear removes all faults. Watches that began under one keep it.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Strike returns the fault for a request and counts it; false means that the
// request is served as usual. A nil Script has no faults.
func (s *Script) Strike(r Request) (Fault, bool) {
	if s == nil {
		return Fault{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rules {
		rule := &s.rules[i]
		if !rule.matches(r) || rule.Times > 0 && rule.struck == rule.Times {
			continue
		}
		rule.struck++
		return rule.Fault, true
	}
	return Fault{}, false
}

// Unstruck returns the faults that have not struck yet, so that a test can make
// sure that what it scripted has happened. What a fault does after some events
// may still be to come.
func (s *Script) Unstruck() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []Fault
	for _, rule := range s.rules {
		if rule.struck == 0 {
			faults = append(faults, rule.Fault)
		}
	}
	return faults
}
