package locktest

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/upstream"
)

// Labels of the goroutines that a lock runs on or starts, as the goroutine profile shows them.
const (
	labelTrial  = "locktest"
	labelClient = "client"
	labelCall   = "call"
)

// do runs one call of the lock in a goroutine of its own. If the call panics, or does not return
// long after its context has ended, do reports that with a stack and ends the rule.
func (cl *client) do(call string, f func()) {
	done := make(chan any, 1)
	labels := pprof.Labels(labelTrial, cl.c.id, labelClient, cl.name, labelCall, call)
	cl.wires.calling(call)
	go pprof.Do(context.Background(), labels, func(context.Context) {
		var p any
		defer func() { done <- p }()
		defer func() {
			if p = recover(); p != nil {
				cl.c.errorf("%s.%s panicked: %v\n%s", cl.name, call, p, stack())
			}
		}()
		f()
	})
	limit := time.NewTimer(20*cl.c.lease + time.Second) // each call has a context of ten leases
	defer limit.Stop()
	select {
	case p := <-done:
		cl.wires.calling("")
		if p != nil {
			panic(giveUp{})
		}
	case <-limit.C:
		cl.c.mu.Lock()
		cl.c.hangs = call
		cl.c.mu.Unlock()
		cl.c.fatalf("%s.%s did not return within %v, whatever became of its context:\n%s", cl.name, call, 20*cl.c.lease+time.Second,
			goroutines(labelTrial, cl.c.id, labelClient, cl.name, labelCall, call))
	}
}

// stack returns the current goroutine's stack, without the kit's own frames at its top.
func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	const perFrame, own = 2, 4 // debug.Stack, stack, the deferred function, panic
	if skip := 1 + perFrame*own; len(lines) > skip {
		lines = lines[skip:]
	}
	return strings.TrimSpace(strings.Join(lines[:min(len(lines), 2*upstream.ShownFrames)], "\n"))
}

// goroutines returns the stacks of the lock's goroutines that carry the labels, given as names and
// values; "" if there is none.
func goroutines(labels ...string) string {
	all := slices.DeleteFunc(upstream.Labelled(labels...), func(group string) bool {
		for _, f := range []string{"locktest.(*client).forwards", "go-redis/v9/internal/pool.", "go-redis/v9/maintnotifications."} {
			if strings.Contains(group, f) && !strings.Contains(group, ").Process") && !strings.Contains(group, ").process") {
				return true // it copies bytes or maintains a pool
			}
		}
		return false
	})
	if n := len(all); n > shownStacks {
		all = append(all[:shownStacks], fmt.Sprintf("\t(and %d other stacks)", n-shownStacks))
	}
	return strings.Join(all, "\n\n")
}

// shownStacks is how many stacks a message shows.
const shownStacks = 4
