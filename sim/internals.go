package sim

import (
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// A bubble settles when each of its goroutines waits for something of the bubble, and only then does time pass and the driver go on. Waiting for
// a mutex does not count. So a lock that waits for a mutex which nobody will unlock, or which another of its goroutines keeps while it
// waits for the network, holds up time and network and itself. It is seen from outside the bubble, in real time.

// lookEvery is the real time between two looks at a bubble that has not ended. A schedule takes milliseconds.
const lookEvery = 250 * time.Millisecond

// run runs the world in a bubble of its own. A bubble that cannot end is abandoned, and that is an outcome. synctest.Test wants a
// *testing.T only to report failures to, and this one never fails: an empty one does, in any process. slow is told where a bubble
// is that has not ended, at every look.
func (w *world) run(slow func(where string)) (settled bool) {
	ended := make(chan struct{})
	go func() { // ends with the bubble, or never if that never settles
		defer close(ended)
		defer w.keepPanic()
		synctest.Test(new(testing.T), func(*testing.T) {
			number := bubbleOf(ownStack())
			w.bubble.Store(&number)
			w.runBubble()
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
		now := lookAtBubble(allStacks(), *number)
		if now.stuck && now.where == before {
			w.abandon(now)
			return false
		}
		before = now.where
		slow(now.where)
	}
}

// abandon makes a bubble that never settles an outcome. Its goroutines stay as they are.
func (w *world) abandon(s standstillReport) {
	if w.mu.TryLock() { // what was written under it is to be read
		defer w.mu.Unlock()
	}
	if w.unexplorable = s.kept; s.kept {
		w.crash = w.program.Variant.Name + " keeps a mutex across a request\nin the simulator time and network go on only when nobody waits for a mutex\n" + s.where
		return
	}
	w.crash = "a goroutine waits for a mutex that stays locked, and none of its client's waits for the network or for time: a deadlock\n" + s.where
}

// still is what was seen of a bubble that has not ended.
type standstillReport struct {
	where string // what its goroutines do, those that keep it from settling first
	stuck bool   // none of them can go on: all wait, and at least one for a mutex
	kept  bool   // a goroutine of a client that waits for a mutex waits for the network or for time, and may have it
}

// lookAtBubble looks at the goroutines of a bubble.
func lookAtBubble(stacks, bubble string) standstillReport {
	s := standstillReport{stuck: true}
	var restless, waiting []string
	all := goroutines(stacks)
	waits, busy := map[string]bool{}, map[string]bool{} // by client
	for _, g := range all {
		if g.bubble != bubble || g.drives() {
			continue
		}
		text := g.state + ":\n" + calls(g.frames)
		if strings.Contains(g.state, "(durable)") {
			waiting = append(waiting, text)
			busy[all.client(g)] = busy[all.client(g)] || g.outside()
			continue
		}
		restless = append(restless, text)
		waits[all.client(g)] = true
		s.stuck = s.stuck && forMutex(g.state)
	}
	for client := range waits {
		s.kept = s.kept || busy[client] || busy[""] || client == "" && slices.Contains(slices.Collect(maps.Values(busy)), true)
	}
	s.stuck = s.stuck && len(restless) > 0
	told := append(restless, waiting...)
	s.where = strings.Join(told[:min(len(told), toldGoroutines)], "\n")
	return s
}

// goroutine is one of a dump.
type goroutine struct{ number, bubble, parent, state, frames string }

// dump is goroutines in the order of the runtime.
type dump []goroutine

// goroutines reads a dump.
func goroutines(stacks string) (all dump) {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		head, frames, _ := strings.Cut(stack, "\n")
		number, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
		_, parent, _ := strings.Cut(frames, " in goroutine ")
		parent, _, _ = strings.Cut(parent, "\n")
		all = append(all, goroutine{number: number, bubble: bubbleOf(head), parent: parent, state: stateOf(head), frames: frames})
	}
	return all
}

// drives reports whether a goroutine is the bubble's driver, or the one that waits for the bubble.
func (g goroutine) drives() bool {
	return strings.Contains(g.frames, "testing/synctest.Test(") || strings.Contains(g.frames, "testingSynctestTest(") ||
		strings.Contains(g.frames, "synctest.Wait(")
}

// outside reports whether a goroutine waits for the network or for time.
func (g goroutine) outside() bool {
	return strings.Contains(g.frames, "sim.(*conn).") || strings.Contains(g.frames, "sim.(*client).dial(") ||
		strings.Contains(g.frames, "sim.(*client).Sleep(") || strings.Contains(g.frames, "time.Sleep(")
}

// client is the number of the goroutine of the client by which a goroutine was started, if the ones between are still there; else "".
func (d dump) client(g goroutine) string {
	for range d {
		if strings.Contains(g.frames, "sim.(*client).runGuarded(") {
			return g.number
		}
		i := slices.IndexFunc(d, func(o goroutine) bool { return o.number == g.parent })
		if i < 0 {
			return ""
		}
		g = d[i]
	}
	return ""
}

// What is told of a standstill.
const (
	toldGoroutines = 8
	toldCalls      = 24 // of a goroutine, innermost first
)

// forMutex reports whether a goroutine in a state waits for a mutex.
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

// ownStack returns the head of the calling goroutine's stack.
func ownStack() string {
	head := make([]byte, 80)
	return string(head[:runtime.Stack(head, false)])
}

// allStacks returns the stacks of all goroutines, as they are at one instant.
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

// silenceRedisLog silences the Redis client's log: in a world where servers die on purpose thousands of times a second it has nothing to
// tell. It sets what the client keeps globally, so it is for processes that do nothing but simulate.
func silenceRedisLog() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}

// handshake are the commands with which Redis clients open and keep a connection. They are no events: how many there are is up to the
// client's pool, and no lock depends on when they happen. They are answered as soon as node and path are there, in turn with what else is on
// the connection.
var handshake = map[string]bool{
	"HELLO": true, "AUTH": true, "CLIENT": true, "SELECT": true, "READONLY": true, "PING": true, "COMMAND": true, "QUIT": true, "CLUSTER": true,
}

// connPool is more connections to a node than any lock uses at once. A client that waits for a connection uses a timer that the Redis client
// keeps for the next one who waits, and a timer of one bubble must not be used in another: the program would end. A lock on several masters
// leaves a request behind on each that does not answer, in every round, and goes on.
func (w *world) connPool() int {
	if w.program.Topology == impls.Independent {
		return 1024
	}
	return 64
}
