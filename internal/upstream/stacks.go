package upstream

import (
	"os"
	"runtime"
	"strings"
	"sync"
)

// stackRoom is how many bytes of stack the goroutine of a request needs, including the Redis client
// and node below it.
const stackRoom = 12 << 10

// parked is the number of goroutines with that much: many compared with those of a schedule.
const parked = 256

// LargeStacks makes goroutines start with stacks large enough for a request, until back is called.
// The runtime starts a goroutine with the average stack size at the last garbage collection, and
// copies a stack each time it grows; a schedule has hundreds of goroutines. So LargeStacks parks
// goroutines with large stacks, which take 4 MiB. It is for processes that only run schedules.
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

// park waits for done, with a large stack.
//
//go:noinline
func park(begun func(), done <-chan struct{}) byte {
	var room [stackRoom]byte
	begun()
	<-done
	return room[len(os.Args)%stackRoom] // an index unknown to the compiler keeps the array
}

// Crossed reports whether the last words of a process say that something which was made in one
// bubble was used in another, or outside: code may keep a channel or a timer for all its objects.
func Crossed(words string) bool {
	_, said, _ := strings.Cut(words, "fatal error: ")
	said, _, _ = strings.Cut(said, "\n")
	return strings.Contains(said, "synctest")
}
