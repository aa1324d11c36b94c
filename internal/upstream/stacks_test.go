package upstream_test

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/lockbench/lockbench/internal/upstream"
)

// moves reports whether the stack of a new goroutine is copied when it calls a function that needs
// 8 KiB. It tries several goroutines, because the runtime reuses the stacks of ended ones, and
// returns the result of the last.
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

// TestLargeStacks: the runtime gives a new goroutine the average stack of the others.
func TestLargeStacks(t *testing.T) {
	runtime.GC()
	if !moves() {
		t.Error("a new goroutine has 8 KiB of stack by default: LargeStacks is no longer needed")
	}
	back := upstream.LargeStacks()
	for range 3 { // a later collection measures the stacks again
		if moves() {
			t.Error("a new goroutine has less than 8 KiB of stack: the runtime no longer uses the average")
		}
		runtime.GC()
	}
	back()
	runtime.GC()
	if !moves() {
		t.Error("new goroutines still have 8 KiB of stack")
	}
}
