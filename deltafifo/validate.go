package deltafifo

import "k8s.io/apimachinery/pkg/types"

// validate returns an *InvalidDeltaError for the first delta that makes no
// sense, so that the fault shows where it was made and not in the store.
func validate[T any](deltas []Delta[T]) error {
	for i := range deltas {
		d := &deltas[i]
		reason := d.fault()
		if reason != "" {
			return &InvalidDeltaError{Index: i, Item: -1, Type: d.Type, Key: d.Key, Reason: reason}
		}
		if j, reason := itemFault(d.Items); reason != "" {
			item := &d.Items[j]
			return &InvalidDeltaError{Index: i, Item: j, Type: item.Type, Key: item.Key, Reason: reason}
		}
	}
	return nil
}

// fault says what is wrong with the delta, its items aside; empty if nothing.
func (d *Delta[T]) fault() string {
	if d.FinalStateUnknown && d.Type != Deleted {
		return "only a Deleted can have an unknown final state"
	}
	switch d.Type {
	case Added, Updated, Deleted:
		if d.Key.Name == "" {
			return "it names no object"
		}
		if d.Items != nil {
			return "only a Replaced has items"
		}
	case Replaced, Bookmark:
		if d.Key != (types.NamespacedName{}) || d.UID != "" {
			return "it is not about one object, but has a key or UID"
		}
		if d.Type == Bookmark && d.Items != nil {
			return "only a Replaced has items"
		}
		if d.Type == Bookmark && d.Version == "" {
			return "it carries no version"
		}
	default:
		return "there is no such type"
	}
	return ""
}

// itemFault returns the place of the first item of a Replaced that makes no
// sense, and why. That a key comes only once is not checked: it would cost a
// map of all keys for each list.
func itemFault[T any](items []Delta[T]) (int, string) {
	pastDeletes := false
	for i := range items {
		item := &items[i]
		switch {
		case item.Type == Replaced || item.Type == Bookmark:
			return i, "an item is a change of one object"
		case item.Type == Deleted && pastDeletes:
			return i, "it must come before all that is not Deleted"
		}
		if reason := item.fault(); reason != "" {
			return i, reason
		}
		pastDeletes = item.Type != Deleted
	}
	return 0, ""
}
