package wire

import "io"

// jsonList splits a list in JSON: an object with an array "items", anywhere among
// its other members.
type jsonList struct {
	w *window
	*shape
	// inside tells that the array is open, first that nothing of what is open
	// was read.
	inside, first bool
	// apiVersion and kind are those of the list.
	apiVersion, kind []byte
	done             bool
}

func (l *jsonList) start() error {
	at, err := l.w.expect(0, '{')
	if err != nil {
		return l.w.inside(err)
	}
	l.w.advance(at)
	l.first = true
	l.rest = append(l.rest, '{')
	return nil
}

// next returns the next item, or io.EOF.
func (l *jsonList) next() (Item, error) {
	for !l.done {
		if l.inside {
			item, ok, err := l.item()
			if ok || err != nil {
				return item, l.w.inside(err)
			}
			continue
		}
		if err := l.member(); err != nil {
			return Item{}, l.w.inside(err)
		}
	}
	// There must be nothing more, and what was compressed or sent in chunks
	// has an end of its own to be read.
	switch at, err := l.w.space(0); {
	case err == nil:
		return Item{}, syntax(l.w.off+int64(at), "something behind the list: %q", l.w.have()[at])
	case l.w.err == io.EOF:
		return Item{}, io.EOF
	default:
		return Item{}, err
	}
}

// open leaves what stands before the next member or element behind. It returns
// false at the bracket that ends them, which it leaves behind too.
func (l *jsonList) open(end byte) (bool, error) {
	b, at, err := l.w.byte(0)
	if err != nil {
		return false, err
	}
	switch {
	case b == end:
		l.first = false
		l.w.advance(at + 1)
		return false, nil
	case l.first:
		l.first = false
	case b != ',':
		return false, syntax(l.w.off+int64(at), "got %q, want a comma or %q", b, end)
	default:
		if _, at, err = l.w.byte(at + 1); err != nil {
			return false, err
		}
	}
	l.w.advance(at)
	return true, nil
}

// item reads one item, or the end of the array.
func (l *jsonList) item() (item Item, ok bool, err error) {
	if ok, err = l.open(']'); err != nil || !ok {
		l.inside = false
		return item, false, err
	}
	var s scan
	end, err := l.w.value(0, MaxItem, &s)
	if err == errLong {
		item.Raw, err = l.w.giant(0, end, &s)
		item.Err = ErrTooLarge
		return item, true, err
	}
	if err != nil {
		return item, false, err
	}
	if s.deepest > MaxDepth {
		item.Err = ErrTooDeep
	}
	item.Raw, err = l.w.take(end)
	return item, true, err
}

// member reads one member of the list, or the end of the list.
func (l *jsonList) member() error {
	if ok, err := l.open('}'); err != nil || !ok {
		l.done = err == nil
		l.rest = append(l.rest, '}')
		return err
	}
	key, at, err := l.w.key(0)
	if err != nil {
		return err
	}
	if string(key) == "items" && l.w.have()[at] != 'n' {
		return l.array(at)
	}
	var s scan
	end, err := l.w.value(at, maxRest-len(l.rest), &s)
	if err == errLong {
		err = syntax(l.w.off+int64(at), "more than %d bytes beside the items", maxRest)
	}
	if err != nil {
		return err
	}
	// The window may have moved under the key.
	if key, at, err = l.w.key(0); err != nil {
		return err
	}
	value := l.w.have()[at:end]
	switch string(key) {
	case "items":
		l.items = true
		l.w.advance(end)
		if string(value) != "null" {
			return syntax(l.w.off, "items are %q", value)
		}
		return nil
	case "kind":
		l.kind = append(l.kind[:0], text(value)...)
		l.names.set(l.apiVersion, l.kind)
	case "apiVersion":
		l.apiVersion = append(l.apiVersion[:0], text(value)...)
		l.names.set(l.apiVersion, l.kind)
	}
	if len(l.rest) > 1 {
		l.rest = append(l.rest, ',')
	}
	l.rest = append(l.rest, l.w.have()[:end]...)
	l.w.advance(end)
	return nil
}

// array opens the array of items.
func (l *jsonList) array(at int) error {
	switch b := l.w.have()[at]; {
	case b != '[':
		return syntax(l.w.off+int64(at), "items are no array: %q", b)
	case l.items:
		return syntax(l.w.off+int64(at), "items a second time")
	}
	l.w.advance(at + 1)
	l.items, l.inside, l.first = true, true, true
	return nil
}
