package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// What a lock does that no operation of its client shows: it is seen on the wire, and on the clock.

// afterwards is how long after its last operation a client still counts as being in it, as a share of the lease: goroutines of the lock may have to end.
const afterwards = 100

// idle reports whether a client has neither a hold nor an operation under way.
func (w *world) idle(a *actor) bool {
	return len(a.open) == 0 && a.granted == 0 && w.timeline() > a.returned+int64(w.program.Config.Lease)/afterwards
}

// beforeRenewal is the data that a command of an idle client may make last longer; nil when it cannot.
func (w *world) beforeRenewal(q *request) *dataset {
	if !q.idle || q.link.target() < 0 || !resp.IsWrite(q.name) {
		return nil
	}
	d := q.link.server.copy(time.Now())
	return &d
}

// A client that sends loopAfter commands in one operation while no time passes does so for ever. No operation takes so many.
const loopAfter = 500

// spins counts a command, and ends the schedule when its client sends commands for ever.
func (w *world) spins(a *actor) {
	if a.burst++; a.burst < loopAfter || w.loop != nil {
		return
	}
	w.loop = []string{fmt.Sprintf("%s sends commands without end while no time passes:", a.name)}
	for _, c := range period(a.commands) {
		w.loop = append(w.loop, commandLine(c).text)
	}
}

// period is the shortest run of commands that the last commands repeat.
func period(all []history.Command) []history.Command {
	same := func(a, b history.Command) bool { return a.Name == b.Name && a.Script == b.Script && a.Node == b.Node }
	all = all[max(0, len(all)-loopAfter):]
	for n := 1; n <= len(all)/3; n++ {
		last, before := all[len(all)-n:], all[len(all)-2*n:len(all)-n]
		if slices.EqualFunc(last, before, same) {
			return before // those have their replies
		}
	}
	return all[max(0, len(all)-10):]
}

// ownWay finds what broke progress though no operation shows it: an acquire that outlasts its context, a client that never ends, a hold that is made to
// last longer by a client that has none.
func ownWay(out Outcome, p Program) (all []broken) {
	for _, op := range out.Ops {
		if b, ok := outlastsContext(out, p, op); ok {
			all = append(all, b)
			break
		}
	}
	for _, name := range out.Stuck {
		if b, ok := neverEnds(out, p, name); ok {
			all = append(all, b)
		}
	}
	if len(out.Renewed) > 0 {
		c := out.Renewed[0]
		all = append(all, broken{Property: history.Progress, Cause: history.Orphan, client: c.Client, at: c.Ran, Story: append(lastLines(out.Story(c.Ran)),
			fmt.Sprintf("%s has no hold and asks for none, and this made a hold last longer: %s %s", c.Client, c.Name, strings.Join(c.Args, " ")))})
	}
	return all
}

// lately is how long before the end of a schedule the last fault of a client that is still at work must have ended, in leases, for it to be stuck.
const lately = 10

// neverEnds judges a client that had not ended at the horizon.
func neverEnds(out Outcome, p Program, name string) (broken, bool) {
	since := int64(out.Virtual) - lately*int64(p.Config.Lease)
	if slices.ContainsFunc(out.Windows, func(w history.Window) bool { return hinders(w, name) && (w.End == 0 || w.End > since) }) {
		return broken{}, false
	}
	doing := "does not end"
	for _, op := range out.Ops {
		if op.Client == name && op.Return >= int64(out.Virtual) && op.Op != history.Use {
			doing = fmt.Sprintf("has called %s at %v, and it has not returned", op.Op, time.Duration(op.Call).Round(time.Microsecond))
		}
	}
	return broken{Property: history.Progress, Cause: history.CauseUnknown, client: name, at: int64(out.Virtual), final: true,
		Story: append(lastLines(out.Story(int64(out.Virtual))), fmt.Sprintf("%s %s, %v after the start", name, doing, out.Virtual.Round(time.Millisecond)))}, true
}

// outlastsContext judges an acquire that returned long after its context had ended. What a request takes that is on its way then, and a look at
// the clock once a second, is given.
func outlastsContext(out Outcome, p Program, op history.Operation) (broken, bool) {
	if op.Op != history.Acquire || op.Return >= int64(out.Virtual) || slices.ContainsFunc(out.Windows, func(w history.Window) bool {
		return w.Fault == faults.CrashClient && w.Client == op.Client || hinders(w, op.Client) && w.Start <= op.Return && (w.End == 0 || w.End >= op.Call)
	}) {
		return broken{}, false
	}
	end := op.Call + int64(p.Config.AcquireWait)
	for _, w := range out.Windows {
		if w.Fault == faults.CancelClient && w.Confirmed && w.Client == op.Client && w.Start >= op.Call && w.Start < end {
			end = w.Start
		}
	}
	if op.Return <= end+int64(max(p.Config.Lease, time.Second)+out.Waited) {
		return broken{}, false
	}
	return broken{Property: history.Progress, Cause: history.CauseUnknown, client: op.Client, at: op.Return, final: true, Story: append(lastLines(out.Story(op.Return)),
		fmt.Sprintf("%s: the context of its acquire ended at %v, and it returned at %v", op.Client, time.Duration(end), time.Duration(op.Return)))}, true
}

// lastLines are as many lines of a story as say how it came to its end.
func lastLines(story []string) []string { return story[max(0, len(story)-10):] }
