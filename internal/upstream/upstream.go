// Package upstream collects the undocumented behaviour of Go's runtime and of the Redis clients on
// which lockbench depends: the format of a goroutine dump, the timers in the heap profile, the
// commands that open a connection, and the pool size at which no caller waits. A test in this
// package fails if a new version changes it.
package upstream

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Handshake reports whether Redis clients send a command to open and maintain a connection. No lock
// depends on its timing, and schedules omit it.
func Handshake(command string) bool {
	switch command {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "READONLY", "PING", "COMMAND", "QUIT", "CLUSTER":
		return true
	}
	return false
}

// Opening reports whether a command is one of the handshake that opens a connection.
func Opening(command string) bool {
	return Handshake(command) && command != "PING" && command != "QUIT" && command != "READONLY"
}

// NobodyWaits returns a pool size that no lock exhausts, nor failed dials if many are expected, as
// those to a dead server: after as many as the pool's size a go-redis client dials once a second. A
// go-redis client that waits for a connection takes a timer from a pool, and using a timer of
// another testing/synctest bubble would crash the program.
func NobodyWaits(many bool) int {
	if many {
		return 1024
	}
	return 64
}

// SilenceRedisLog drops what go-redis would print on stderr: lost connections are part of most runs,
// and each is recorded. The log is global state, so it is for lockbench's own processes.
func SilenceRedisLog() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}

// Goroutine is a goroutine in a dump: its numbers, its state, and its frames as the runtime prints
// them.
type Goroutine struct{ Number, Bubble, Parent, State, Frames string }

// Goroutines parses a dump of all goroutines, in the runtime's order.
func Goroutines(dump string) (all []Goroutine) {
	for stack := range strings.SplitSeq(dump, "\n\n") {
		head, frames, _ := strings.Cut(stack, "\n")
		number, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
		_, parent, _ := strings.Cut(frames, " in goroutine ")
		parent, _, _ = strings.Cut(parent, "\n")
		// the head is "goroutine 7 [select (durable), 2 minutes, synctest bubble 1]:"
		_, state, _ := strings.Cut(head, "[")
		state, _, _ = strings.Cut(state, ",")
		all = append(all, Goroutine{Number: number, Bubble: bubbleOf(head), Parent: parent, State: strings.TrimSuffix(state, "]:"), Frames: frames})
	}
	return all
}

// bubbleOf returns the number of the bubble in the header of a goroutine's stack; "" if it is in
// none.
func bubbleOf(head string) string {
	_, number, _ := strings.Cut(head, "synctest bubble ")
	number, _, _ = strings.Cut(number, "]")
	return number
}

// Durable reports whether a goroutine of a bubble waits for an event within the bubble.
func (g Goroutine) Durable() bool { return strings.Contains(g.State, "(durable)") }

// ForMutex reports whether a goroutine waits for a mutex.
func (g Goroutine) ForMutex() bool {
	return strings.HasPrefix(g.State, "sync.Mutex") || strings.HasPrefix(g.State, "sync.RWMutex") || g.State == "semacquire"
}

// Drives reports whether a goroutine waits until its bubble is idle or ends.
func (g Goroutine) Drives() bool {
	return strings.Contains(g.Frames, "testing/synctest.Test(") || strings.Contains(g.Frames, "testingSynctestTest(") ||
		strings.Contains(g.Frames, "synctest.Wait(")
}

// In reports whether a function is on a goroutine's stack.
func (g Goroutine) In(function string) bool { return strings.Contains(g.Frames, function+"(") }

// OwnBubble returns the number of the calling goroutine's bubble.
func OwnBubble() string {
	head := make([]byte, 80)
	return bubbleOf(string(head[:runtime.Stack(head, false)]))
}

// Dump returns the stacks of all goroutines at one instant.
func Dump() string {
	const enough = 1 << 24 // bytes
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size > enough {
			return string(b[:n])
		}
	}
}

// WatchTimers makes the heap profile record every allocation, so that pending can find the live
// timers created since. restore undoes that. It is for processes that run one schedule at a time.
func WatchTimers() (pending func(of func(frames []string) bool) bool, restore func()) {
	rate := runtime.MemProfileRate
	before := timers()
	runtime.MemProfileRate = 1
	return func(of func(frames []string) bool) bool {
		for stack, n := range timers() {
			if n > before[stack] && of(strings.Split(stack, "\n")) {
				return true
			}
		}
		return false
	}, func() { runtime.MemProfileRate = rate }
}

// timers counts the live timers by the stack that created them, one function a line, innermost
// first. The runtime keeps running timers alive.
func timers() map[string]int64 {
	runtime.GC()
	runtime.GC() // the profile is that of the collection before the last
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, false); !ok; {
		records = make([]runtime.MemProfileRecord, n+64)
		if n, ok = runtime.MemProfile(records, false); ok {
			records = records[:n]
		}
	}
	all := map[string]int64{}
	for _, r := range records {
		var names []string
		for frames, more := runtime.CallersFrames(r.Stack()), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			names = append(names, f.Function)
		}
		i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(makeTimers, name) })
		// the runtime's table of timers grew
		if i >= 0 && r.InUseObjects() > 0 && !slices.Contains(names[:i], "runtime.growslice") {
			all[strings.Join(names[i:], "\n")] += r.InUseObjects()
		}
	}
	return all
}

// makeTimers are the functions that make a timer.
var makeTimers = []string{"time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.After", "time.Tick", "context.AfterFunc"}

// Labelled returns the stacks of the goroutines that carry the labels, given as names and values:
// one for each group that does the same, as lines of "function file:line". Goroutines inherit the
// labels of those that start them.
func Labelled(labels ...string) (stacks []string) {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return []string{fmt.Sprintf("(no stacks: %v)", err)}
	}
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		carries := true
		for label := range slices.Chunk(labels, 2) {
			carries = carries && strings.Contains(group, fmt.Sprintf("%q:%q", label[0], label[1]))
		}
		if !carries {
			continue
		}
		var frames []string
		for line := range strings.SplitSeq(group, "\n") {
			rest, ok := strings.CutPrefix(line, "#\t0x")
			if fields := strings.Fields(rest); ok && len(fields) >= 3 && len(frames) < ShownFrames {
				frames = append(frames, "\t"+fields[1]+" "+fields[2])
			}
		}
		stacks = append(stacks, strings.Join(frames, "\n"))
	}
	return stacks
}

// ShownFrames is how many lines of a stack a message shows.
const ShownFrames = 10

// MutexOf returns who keeps the mutex for which the first stack waits: lock, unless the waiting
// call is a library's, of the client or of the server.
func MutexOf(lock, stack string) string {
	for line := range strings.SplitSeq(stack, "\n") {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "", strings.HasSuffix(name, ":"), strings.HasPrefix(name, "sync."), strings.HasPrefix(name, "internal/"), strings.HasPrefix(name, "runtime"):
		case strings.Contains(name, "redis/go-redis/"):
			return "go-redis"
		case strings.Contains(name, "alicebob/miniredis/"):
			return "miniredis"
		default:
			return lock
		}
	}
	return lock
}
