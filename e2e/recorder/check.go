package recorder

import (
	"fmt"

	"heliograph.example/informer"
)

// check returns the rules that c breaks, given what is known of its key.
func (r *Recorder[T]) check(o *object[T], c informer.Change[T]) (broken []string) {
	complain := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	var none T
	switch c.Type {
	case informer.Added:
		if o.alive {
			complain("added while alive with version %q, UID %q", o.Version, o.UID)
		}
		if c.Old != none {
			complain("Old is set for Added")
		}
		if !o.alive && o.UID != "" && c.UID == o.UID && !r.options.Filtered {
			complain("an object that was deleted came back")
		}
	case informer.Updated, informer.Deleted:
		if !o.alive {
			complain("not alive")
		} else if c.Old != o.last {
			complain("Old is not what New was last, which had version %q", o.Version)
		}
		if o.alive && c.UID != o.UID {
			complain("another UID, %q, is alive", o.UID)
		}
	default:
		complain("no such type of change")
	}
	if c.Initial && c.Type != informer.Added || c.Resync && c.Type != informer.Updated ||
		c.FinalStateUnknown && c.Type != informer.Deleted {
		complain("marked with what is not for its type: Initial %v, Resync %v, FinalStateUnknown %v", c.Initial, c.Resync, c.FinalStateUnknown)
	}
	broken = append(broken, checkOrder(o.Version, c)...)
	return append(broken, r.checkObject(c)...)
}

// checkOrder compares the version of c with the one told last.
func checkOrder[T Object](last string, c informer.Change[T]) (broken []string) {
	switch {
	case c.FinalStateUnknown && c.Version == last:
		return nil // nobody saw the delete and its version: it is the last one known
	case c.Resync:
		if c.Version != last || c.Old != c.New {
			return []string{fmt.Sprintf("a resync tells of something new; the last version was %q", last)}
		}
		return nil
	case last == "": // compared with itself, a first version must only be one
		if _, err := newer(c.Version, c.Version); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
	switch rises, err := newer(c.Version, last); {
	case err != nil:
		return []string{err.Error()}
	case !rises:
		return []string{fmt.Sprintf("the last version was %q, which is not older", last)}
	}
	return nil
}

// checkObject compares what stands beside the object with the object.
func (r *Recorder[T]) checkObject(c informer.Change[T]) (broken []string) {
	var none T
	if c.New == none {
		if c.FinalStateUnknown {
			return nil
		}
		return []string{"New is not set"}
	}
	if c.FinalStateUnknown {
		return []string{"New is set although the final state is unknown"}
	}
	if c.New.GetNamespace() != c.Key.Namespace || c.New.GetName() != c.Key.Name {
		broken = append(broken, fmt.Sprintf("New is another object, %s/%s", c.New.GetNamespace(), c.New.GetName()))
	}
	if c.New.GetUID() != c.UID {
		broken = append(broken, fmt.Sprintf("New has UID %q", c.New.GetUID()))
	}
	if v := c.New.GetResourceVersion(); v != c.Version {
		broken = append(broken, fmt.Sprintf("New has version %q", v))
	}
	return broken
}
