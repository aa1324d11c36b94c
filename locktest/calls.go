package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// Labels of the goroutines that a lock runs on or starts, as the goroutine profile shows them.
const (
	labelTrial  = "locktest"
	labelClient = "client"
	labelCall   = "call"
)

// do runs one call of the lock in a goroutine of its own. If the call panics, or does not return long after its context has ended, do reports that
// with a stack and ends the rule.
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
	const most = 24
	return strings.TrimSpace(strings.Join(lines[:min(len(lines), most)], "\n"))
}

// goroutines returns the stacks of the goroutines that carry the labels, given as names and values; "" if there is none.
func goroutines(labels ...string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return fmt.Sprintf("(no stacks: %v)", err)
	}
	var out []string
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		if carries(group, labels) && !ofKit(group) {
			out = append(out, frames(group))
		}
	}
	return strings.Join(out, "\n\n")
}

// carries reports whether a group of goroutines in a profile has the labels.
func carries(group string, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if !strings.Contains(group, fmt.Sprintf("%q:%q", labels[i], labels[i+1])) {
			return false
		}
	}
	return true
}

// ofKit reports whether goroutines belong to the kit or the Redis client: they copy bytes or maintain a pool.
func ofKit(group string) bool {
	for _, f := range []string{"locktest.(*shim)", "go-redis/v9/internal/pool.", "go-redis/v9/maintnotifications."} {
		if strings.Contains(group, f) && !strings.Contains(group, ").Process") && !strings.Contains(group, ").process") {
			return true
		}
	}
	return false
}

// frames formats a group of a profile as lines of "function file:line".
func frames(group string) string {
	var out []string
	for line := range strings.SplitSeq(group, "\n") {
		rest, ok := strings.CutPrefix(line, "#\t0x")
		if !ok {
			continue
		}
		if fields := strings.Fields(rest); len(fields) >= 3 {
			out = append(out, "\t"+fields[1]+" "+fields[2])
		}
	}
	return strings.Join(out, "\n")
}

// network reports whether an error came from a connection, from the Redis client or from the end of a context.
func network(err error) bool {
	var reply redis.Error
	return impls.ConnectionFailed(err) || errors.As(err, &reply) && !errors.Is(err, redis.Nil)
}
