package indexer

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// cell has an object that can be exchanged while readers load it. Only pointers
// can: for other types it stays empty, and nobody loads it.
type cell[T any] struct{ pointer unsafe.Pointer }

// fitsCell reports whether the type of an object is a pointer.
func fitsCell[T any]() bool { return reflect.TypeFor[T]().Kind() == reflect.Pointer }

func (c *cell[T]) load() T {
	p := atomic.LoadPointer(&c.pointer)
	return *(*T)(unsafe.Pointer(&p))
}

func (c *cell[T]) store(obj T) {
	atomic.StorePointer(&c.pointer, *(*unsafe.Pointer)(unsafe.Pointer(&obj)))
}
