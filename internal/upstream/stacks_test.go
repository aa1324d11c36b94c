package upstream_test

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/lockbench/lockbench/internal/upstream"
)

// moves reports whether the stack of a new goroutine is copied when it calls a function that needs 8 KiB. The runtime gives large stacks to
// goroutines that replace ended ones: the last of several does.
func moves() (last bool) {
	moved := make(chan bool)
	for range 100 {
		go func() {
			var here byte
			before := uintptr(unsafe.Pointer(&here))
			deep()
			moved <- before != uintptr(unsafe.Pointer(&here))
		}()
		last = <-moved
	}
	return last
}

//go:noinline
func deep() byte {
	var room [8 << 10]byte
	return room[len(os.Args)%len(room)]
}

// TestLargeStacks: the runtime gives a new goroutine as much stack as others use.
func TestLargeStacks(t *testing.T) {
	runtime.GC()
	if !moves() {
		t.Error("a new goroutine has 8 KiB of stack by itself: LargeStacks is needed no more")
	}
	back := upstream.LargeStacks()
	for range 3 { // a later collection measures the stacks again
		if moves() {
			t.Error("a new goroutine has less than 8 KiB of stack: the runtime does not look at what others use any more")
		}
		runtime.GC()
	}
	back()
	runtime.GC()
	if !moves() {
		t.Error("new goroutines still have 8 KiB of stack")
	}
}
