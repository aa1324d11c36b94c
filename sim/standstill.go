package sim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/internal/upstream"
)

// A bubble settles when each of its goroutines waits for something within the bubble; only then
// does time pass and the driver go on. Waiting for a mutex does not count. So a lock that waits for
// a mutex that is never unlocked, or that another of its goroutines holds while it waits for the
// network, stops time, network and itself. This can only be detected from outside the bubble, in
// real time.
//
// Whether a goroutine that waits for time or the network holds the mutex cannot be seen. So a
// deadlock is certain only if there is none.
//
// A lock that repeats something without waiting, such as dialing a node that is down, stops time as
// well.

// lookEvery is the real time between two inspections of a bubble that has not ended. A schedule
// takes milliseconds. A bubble stands still if nothing has happened in it from one inspection to
// the next, so many times in a row: a machine that is busy may not run a goroutine for a while.
const (
	lookEvery = 100 * time.Millisecond
	looks     = 4
)

// endlessAfter is the processor time in which the driver of a bubble must make a turn: what clients
// do between two takes microseconds. A goroutine that waits outside the bubble uses none: it gets
// idleFactor times as much real time, as a busy machine may not run it.
const (
	endlessAfter = 5 * time.Second
	idleFactor   = 12
)

// run runs the world in its own bubble, and abandons one that cannot end. synctest.Test needs a
// *testing.T only to report failures, and this one never fails, so an empty one will do.
func (w *world) run(endless time.Duration) (settled bool) {
	ended := make(chan struct{})
	go func() { // ends with the bubble, or never if that never settles
		defer close(ended)
		defer func() {
			if left := recover(); left != nil { // synctest reports goroutines left behind
				w.out.Left = w.leftBehind(fmt.Sprint(left))
			}
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			number := upstream.OwnBubble()
			w.bubble.Store(&number)
			w.runBubble()
		})
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var before standstillReport
	var ran func() time.Duration  // since the last turn that was seen
	for still, quiet := 0, 0; ; { // quiet counts inspections since then: a process may be stopped
		select {
		case <-ended:
			return true
		case <-look.C:
		}
		number := w.bubble.Load()
		if number == nil {
			continue
		}
		now := lookAtBubble(upstream.Dump(), *number)
		now.turns = w.turns.Load()
		if still++; !now.stuck || now != before {
			still = 0
		}
		if ran == nil || now.turns != before.turns {
			ran, quiet = subprocess.Stopwatch(), 0
		}
		quiet++
		now.endless = ran() >= endless || time.Duration(quiet)*lookEvery >= idleFactor*endless
		if before = now; still == looks || now.endless {
			w.abandon(now)
			return false
		}
	}
}

// abandon turns a bubble that never settles into an outcome. Its goroutines are left as they are.
func (w *world) abandon(s standstillReport) {
	if s.endless {
		if !s.driving { // the driver holds it
			w.mu.Lock() // for good: a loop that goes through the network ends here
		}
		w.out.Endless = true
		w.out.Crash = "an endless loop in which no virtual time passes\n" + s.where
		return
	}
	if w.mu.TryLock() { // read what was written under it
		defer w.mu.Unlock()
	}
	const limit = "\nin the simulator time and network go on only when nobody waits for a mutex\n"
	w.out.Unexplorable = s.kept || s.shared
	switch name := w.program.Variant.Name; {
	case s.kept:
		w.out.Crash = upstream.MutexOf(name, s.where) + " keeps a mutex across a request" + limit + s.where
		return
	case s.shared:
		w.out.Crash = upstream.MutexOf(name, s.where) + " waits for a mutex that another client of the process may hold" + limit + s.where
		return
	}
	w.out.Crash = "a goroutine waits for a mutex that stays locked, and none of its client's waits for the network or for time: a deadlock\n" + s.where
}

// ofLock reports whether a timer created at a stack is the lock's: not the simulator's, the Redis
// client's, or the deadline of a context.
func ofLock(frames []string) bool {
	i := slices.IndexFunc(frames, func(f string) bool { return !strings.HasPrefix(f, "time.") && !strings.HasPrefix(f, "context.After") })
	if i < 0 {
		return false
	}
	maker := frames[i]
	return !strings.HasPrefix(maker, "context.") && !strings.Contains(maker, "/redis/go-redis/") &&
		!strings.Contains(maker, "/sim.(*world).") && !strings.Contains(maker, "/sim.(*virtual).") && !strings.Contains(maker, "/sim.(*conn).") && !strings.Contains(maker, "/sim.(*client).")
}

type standstillReport struct {
	where string // what its goroutines do; those that keep it from settling come first
	stuck bool   // no goroutine can go on: all wait, and at least one for a mutex
	// the driver itself is at work, as in a script without end
	driving bool
	// while a goroutine waits for a mutex, another of its client waits for the network or for time,
	// and may hold it
	kept  bool
	turns uint64 // of the driver so far

	endless bool // some goroutine goes on, and the driver has long made no turn

	shared bool // a goroutine of any client does: those of one process may share a mutex
}

func lookAtBubble(stacks, bubble string) standstillReport {
	s := standstillReport{stuck: true}
	var restless, waiting []string
	all := upstream.Goroutines(stacks)
	waits, busy := map[string]bool{}, map[string]bool{} // by client
	for _, g := range all {
		if g.Bubble != bubble || g.Drives() {
			continue
		}
		client, text := startedBy(all, g), g.State+":\n"+calls(g.Frames)
		if g.Durable() {
			waiting = append(waiting, text)
			outside := strings.Contains(g.Frames, "sim.(*conn).") || g.In("sim.(*client).dial") || g.In("sim.(*client).Sleep") || g.In("time.Sleep")
			busy[client] = busy[client] || outside
			continue
		}
		restless = append(restless, text)
		waits[client] = true
		s.driving = s.driving || g.In("sim.(*world).runBubble") && !g.ForMutex()
		s.stuck = s.stuck && g.ForMutex()
	}
	for client := range waits {
		some := slices.Contains(slices.Collect(maps.Values(busy)), true)
		s.kept = s.kept || busy[client] || busy[""] || client == "" && some
		s.shared = s.shared || some
	}
	s.stuck = s.stuck && len(restless) > 0
	listed := append(restless, waiting...)
	s.where = strings.Join(listed[:min(len(listed), shownGoroutines)], "\n")
	return s
}

// startedBy returns the number of the client's goroutine that started a goroutine, directly or
// through others that still exist; else "".
func startedBy(all []upstream.Goroutine, g upstream.Goroutine) string {
	for range all {
		if g.In("sim.(*client).runGuarded") {
			return g.Number
		}
		i := slices.IndexFunc(all, func(o upstream.Goroutine) bool { return o.Number == g.Parent })
		if i < 0 {
			return ""
		}
		g = all[i]
	}
	return ""
}

// What is reported of a standstill.
const (
	shownGoroutines = 8
	shownCalls      = 24 // of a goroutine, innermost first
)

// calls lists the calls of a stack that are not the runtime's, one per line with its place.
func calls(frames string) string {
	var b strings.Builder
	lines := strings.Split(frames, "\n")
	for i, listed := 0, 0; i+1 < len(lines) && listed < shownCalls; i += 2 {
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
		listed++
	}
	return b.String()
}
