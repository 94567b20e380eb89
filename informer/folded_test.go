package informer

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

type number = Change[int]

func numberKey(n int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(n)} }

func TestFoldingKeepsTheStepFromWhatWasToldToTheNewest(t *testing.T) {
	k := numberKey(1)
	add := func(v int) number { return number{Type: Added, Key: k, New: v} }
	update := func(from, to int) number { return number{Type: Updated, Key: k, Old: from, New: to} }
	del := func(last int) number { return number{Type: Deleted, Key: k, Old: last, New: last + 100} }
	for name, c := range map[string]struct{ in, want []number }{
		"updates become one":                            {[]number{update(1, 2), update(2, 3)}, []number{update(1, 3)}},
		"an update of something new stays an add":       {[]number{add(1), update(1, 2)}, []number{add(2)}},
		"what came and went is not told":                {[]number{add(1), update(1, 2), del(2)}, nil},
		"a delete keeps what was told and the end":      {[]number{update(1, 2), del(2)}, []number{{Type: Deleted, Key: k, Old: 1, New: 102}}},
		"a delete and an add stay two":                  {[]number{update(1, 2), del(2), add(3), update(3, 4)}, []number{{Type: Deleted, Key: k, Old: 1, New: 102}, add(4)}},
		"of several ends the first is told":             {[]number{del(1), add(2), del(2), add(3)}, []number{del(1), add(3)}},
		"what came and went after a delete is not told": {[]number{del(1), add(2), update(2, 3), del(3)}, []number{del(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolded[int]()
			for i := range c.in {
				f.add(&c.in[i], 1)
			}
			if f.len() != len(c.want) {
				t.Errorf("len is %d, want %d", f.len(), len(c.want))
			}
			if got := f.take(10); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("folded to\n%v, want\n%v", got, c.want)
			}
			if f.len() != 0 || len(f.byKey) != 0 || f.front != none || f.back != none {
				t.Error("something is left behind")
			}
		})
	}
}

func TestFoldedKeysComeInTheOrderOfTheirFirstChange(t *testing.T) {
	f := newFolded[int]()
	position := uint64(0)
	change := func(kind int, key int) {
		position++
		f.add(&number{Type: Added, Key: numberKey(key), New: int(position)}, position)
		if kind == 0 { // it goes again
			position++
			f.add(&number{Type: Deleted, Key: numberKey(key)}, position)
		}
	}
	change(1, 0)
	for n := range 1000 {
		change(0, 2000+n) // places are used again
		change(1, 1+n)
	}
	if places := len(f.keys); places > 1002 {
		t.Errorf("%d places for 1001 keys", places)
	}
	for n := range 1001 {
		if at := f.position(); n > 0 && at != uint64(3*n+1) {
			t.Fatalf("key %d is from position %d", n, at)
		}
		if got := f.take(1); len(got) != 1 || got[0].Key != numberKey(n) {
			t.Fatalf("got %v, want key %d", got, n)
		}
		if places, left := cap(f.keys), f.len(); places > 8*left+chunkSize {
			t.Fatalf("%d places are held for %d keys", places, left)
		}
	}
}
