package sim

import (
	"path"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A bubble settles when each of its goroutines waits for something of the bubble, and only then does time pass and the driver go on. Waiting for
// a mutex does not count. So a lock that waits for a mutex which nobody will unlock, or which another of its goroutines keeps while it
// waits for the network, holds up time and network and itself. It is seen from outside the bubble, in real time.

// lookEvery is the real time between two looks at a bubble that has not ended. A schedule takes milliseconds.
const lookEvery = 250 * time.Millisecond

// live runs the world in a bubble of its own. A bubble that cannot end is abandoned, and that is an outcome. synctest.Test wants a
// *testing.T only to report failures to, and this one never fails: an empty one does, in any process. slow is told where a bubble
// is that has not ended, at every look.
func (w *world) live(slow func(where string)) (settled bool) {
	ended := make(chan struct{})
	go func() { // ends with the bubble, or never if that never settles
		defer close(ended)
		defer w.leave()
		synctest.Test(new(testing.T), func(*testing.T) {
			number := bubbleOf(ownStack())
			w.bubble.Store(&number)
			w.inside()
		})
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	before := ""
	for {
		select {
		case <-ended:
			return true
		case <-look.C:
		}
		number := w.bubble.Load()
		if number == nil {
			continue
		}
		where, stuck := standstill(allStacks(), *number)
		if stuck && where == before {
			w.abandon(where)
			return false
		}
		before = where
		slow(where)
	}
}

// abandon makes a bubble that never settles an outcome. Its goroutines stay as they are.
func (w *world) abandon(where string) {
	if w.mu.TryLock() { // what was written under it is to be read
		defer w.mu.Unlock()
	}
	w.crash = "a goroutine waits for a mutex that stays locked: a deadlock, or another keeps it while it waits for time or the network, " +
		"which go on in the simulator only when nobody waits for a mutex\n" + where
}

// standstill says what the goroutines of a bubble are doing, those that keep it from settling first. stuck when none of them can go on: all wait,
// and at least one for a mutex.
func standstill(stacks, bubble string) (where string, stuck bool) {
	var restless, waiting []string
	stuck = true
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		head, frames, _ := strings.Cut(stack, "\n")
		if bubbleOf(head) != bubble || strings.Contains(frames, "testing/synctest.Test(") ||
			strings.Contains(frames, "testingSynctestTest(") || strings.Contains(frames, "synctest.Wait(") {
			continue // not of the bubble, or its driver's
		}
		state := stateOf(head)
		text := state + ":\n" + calls(frames)
		if strings.Contains(state, "(durable)") {
			waiting = append(waiting, text)
			continue
		}
		restless = append(restless, text)
		stuck = stuck && forMutex(state)
	}
	stuck = stuck && len(restless) > 0
	all := append(restless, waiting...)
	return strings.Join(all[:min(len(all), toldGoroutines)], "\n"), stuck
}

// What is told of a standstill.
const (
	toldGoroutines = 8
	toldCalls      = 24 // of a goroutine, innermost first
)

// forMutex tells whether a goroutine in a state waits for a mutex.
func forMutex(state string) bool {
	return strings.HasPrefix(state, "sync.Mutex") || strings.HasPrefix(state, "sync.RWMutex") || state == "semacquire"
}

// stateOf takes the state from the head of a goroutine's stack: "goroutine 7 [select (durable), 2 minutes, synctest bubble 1]:".
func stateOf(head string) string {
	_, state, _ := strings.Cut(head, "[")
	state, _, _ = strings.Cut(state, ",")
	return strings.TrimSuffix(state, "]:")
}

// bubbleOf takes the number of the bubble from the head of a goroutine's stack; "" when it is in none.
func bubbleOf(head string) string {
	_, number, _ := strings.Cut(head, "synctest bubble ")
	number, _, _ = strings.Cut(number, "]")
	return number
}

// calls lists the calls of a stack that are not the runtime's, one per line with its place.
func calls(frames string) string {
	var b strings.Builder
	lines := strings.Split(frames, "\n")
	for i, told := 0, 0; i+1 < len(lines) && told < toldCalls; i += 2 {
		name := lines[i]
		if strings.HasPrefix(name, "created by ") {
			break
		}
		if end := strings.LastIndexByte(name, '('); end > 0 {
			name = name[:end]
		}
		if strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "sync.") {
			continue
		}
		place, _, _ := strings.Cut(path.Base(strings.TrimSpace(lines[i+1])), " ")
		b.WriteString("  " + strings.TrimPrefix(name, "github.com/") + " (" + place + ")\n")
		told++
	}
	return b.String()
}

// ownStack gives the head of the calling goroutine's stack.
func ownStack() string {
	head := make([]byte, 80)
	return string(head[:runtime.Stack(head, false)])
}

// allStacks gives the stacks of all goroutines, as they are at one instant.
func allStacks() string {
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size > maxStacks {
			return string(b[:n])
		}
	}
}

// maxStacks is how many bytes of stacks are looked at.
const maxStacks = 1 << 24
