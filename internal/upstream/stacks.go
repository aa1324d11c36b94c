package upstream

import (
	"os"
	"runtime"
	"sync"
)

// stackRoom is what the goroutine of a request needs of its stack, in bytes, with a Redis client and a node below it.
const stackRoom = 12 << 10

// parked is how many goroutines use that much: many beside those of a schedule.
const parked = 256

// LargeStacks lets goroutines start with stacks that are large enough for a request, until back is called. The runtime gives a new goroutine that takes the place of one that
// has ended as much as the others used on average when garbage was last collected; one for which that is not enough copies its stack each time it grows, and a schedule has
// hundreds. So goroutines that use much are parked. They take 4 MiB. It is for processes that do nothing but run schedules.
func LargeStacks() (back func()) {
	done := make(chan struct{})
	var begun, ended sync.WaitGroup
	begun.Add(parked)
	for range parked {
		ended.Go(func() { park(begun.Done, done) })
	}
	begun.Wait()
	runtime.GC()
	return func() {
		close(done)
		ended.Wait()
	}
}

// park waits with much on its stack.
//
//go:noinline
func park(begun func(), done <-chan struct{}) byte {
	var room [stackRoom]byte
	begun()
	<-done
	return room[len(os.Args)%stackRoom] // an index that is not known keeps the array
}
