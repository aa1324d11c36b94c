package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// What a lock does outside its client's operations shows on the wire and on the clock.

// inRealTime reports whether a schedule was run by processes, whose calls cannot be timed exactly.
func inRealTime(o sim.Outcome) bool { return o.Header.ClockError > 0 }

// wasIdle reports whether a client had neither a hold nor an operation under way at an instant, nor
// shortly before: goroutines of the lock may still be ending. In real time a thread does so when the
// machine comes to it.
func wasIdle(o sim.Outcome, client string, at int64) bool {
	holds, reenters := 0, o.Program.Variant.Kind == history.Reentrant
	ending := int64(o.Program.Config.Lease) / 100
	if inRealTime(o) {
		ending = int64(o.Program.Config.Lease) / 2
	}
	for _, op := range o.Ops {
		switch {
		case op.Client != client || op.Call > at:
		case op.Return+ending >= at && op.Op != history.Extend:
			return false
		case op.Op == history.Acquire && op.Outcome == history.OK:
			holds++
		// a failed release of a re-entrant lock may have been an inner one, which the server still
		// counts; with other locks a renewal after it is useless, whatever its outcome
		case op.Op == history.Release && !(reenters && (op.Outcome == history.Fail || op.Outcome == history.Unknown)):
			holds = max(holds-1, 0)
		}
	}
	return holds == 0
}

// renewed returns the commands of clients with neither a hold nor an operation under way by which
// data expires later than before. A node that executes the recorded commands again shows what they
// did; it is needed only if one of them may have renewed something.
func (x *explainer) renewed(out sim.Outcome) (found []history.Command, err error) {
	suspect := func(c history.Command) bool {
		return c.Node != sim.StoreNode && resp.IsWrite(c.Name) && (c.Replied != 0 || c.Ran != 0) && wasIdle(out, c.Client, c.Sent)
	}
	if !slices.ContainsFunc(out.Commands, suspect) {
		return nil, nil
	}
	executed := out.Effects
	if executed == nil {
		if executed, err = x.Derive(context.Background(), record(out)); err != nil {
			return nil, err
		}
	}
	for _, e := range executed {
		if !slices.ContainsFunc(e.Changes, prolongs) {
			continue
		}
		for _, c := range out.Commands {
			ran := c.Ran == e.At || c.Ran == 0 && c.Sent <= e.At && e.At <= c.Replied
			if ran && c.Node == e.Node && c.Conn == e.Conn && c.Name == e.Name && suspect(c) {
				c.Ran = e.At
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// prolongs reports whether a change lets a key expire later, or raises the score of a member, which
// may be an instant.
func prolongs(c history.DataChange) bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	if c.Before.Until != 0 && (c.After.Until == 0 || c.After.Until > c.Before.Until) {
		return true
	}
	before, _ := c.Before.Value.(map[string]float64)
	after, _ := c.After.Value.(map[string]float64)
	for member, score := range after {
		if was, there := before[member]; there && score > was {
			return true
		}
	}
	return false
}

// livenessFindings returns the violations of progress that no operation shows: of a context that is
// ignored, a client without end, a needless renewal.
func (x *explainer) livenessFindings(out sim.Outcome) (all []broken, err error) {
	for _, op := range out.Ops {
		if b, ok := ignoresContext(out, op); ok {
			all = append(all, b)
			break
		}
	}
	since := int64(out.Virtual) - stuckMargin*int64(out.Program.Config.Lease)
	for _, name := range out.Stuck {
		if slices.ContainsFunc(out.Windows, func(w history.Window) bool { return hinders(w, name) && (w.End == 0 || w.End > since) }) {
			continue
		}
		doing := "does not end"
		for _, op := range out.Ops {
			if op.Client == name && op.Return >= int64(out.Virtual) && op.Op != history.Use {
				doing = fmt.Sprintf("has called %s at %v, and it has not returned", op.Op, time.Duration(op.Call).Round(time.Microsecond))
			}
		}
		all = append(all, stalled(out, name, int64(out.Virtual), "%s %s, %v after the start", name, doing, out.Virtual.Round(time.Millisecond)))
	}
	renewals, err := x.renewed(out)
	if len(renewals) > 0 {
		c := renewals[0]
		b := stalled(out, c.Client, c.Ran, "%s has no hold and asks for none, and this made a hold last longer: %s %s", c.Client, c.Name, strings.Join(c.Args, " "))
		b.Cause = verdicts.Orphan
		all = append(all, b)
	}
	if b, ok := renewsNoMore(out); ok {
		all = append(all, b)
	}
	return all, err
}

// renewsNoMore reports a loss of a message after which a client sent nothing more, though it was
// inside for two leases after it, its lock renews in the background, and neither another fault nor
// a notice of a loss kept the lock from trying again.
func renewsNoMore(o sim.Outcome) (broken, bool) {
	lease := int64(o.Program.Config.Lease)
	for _, use := range o.Ops {
		if use.Op != history.Use || use.Return-use.Call < 2*lease {
			continue
		}
		for _, w := range o.Windows {
			lost := w.Client == use.Client && w.Does.Any(history.LosesRequests|history.LosesReplies) && w.Start > use.Call && w.Start+2*lease <= use.Return
			if lost && silentSince(o, use, w.Start) && renews(o) {
				b := stalled(o, use.Client, use.Return, "%s lost a message at %v, and renews no more: it sends nothing until it leaves its critical section at %v",
					use.Client, time.Duration(w.Start).Round(time.Millisecond), time.Duration(use.Return).Round(time.Millisecond))
				b.Property, b.Cause = verdicts.Renewal, verdicts.RenewalGap
				return b, true
			}
		}
	}
	return broken{}, false
}

// renews reports whether a lock says that it renews, or sends, in the background of a critical
// section, what none of its releases sends: the end of a release may come in the next section.
func renews(o sim.Outcome) bool {
	ends := history.ReleaseKinds(o.Ops, o.Commands)
	return o.Header.Renews || slices.ContainsFunc(o.Commands, func(c history.Command) bool {
		inside := func(op history.Operation) bool {
			return op.Op == history.Use && op.Client == c.Client && op.Call < c.Sent && c.Sent < op.Return
		}
		return c.Op == 0 && c.Node != sim.StoreNode && resp.IsWrite(c.Name) && !ends[history.KindOf(c.Name, c.Script)] && slices.ContainsFunc(o.Ops, inside)
	})
}

// silentSince reports whether a client sends nothing from an instant until it leaves its critical
// section, though it could and had a lease to save.
func silentSince(o sim.Outcome, use history.Operation, from int64) bool {
	answered := int64(0)
	for _, c := range o.Commands {
		switch {
		case c.Client != use.Client || c.Node == sim.StoreNode:
		case c.Sent > from && c.Sent < use.Return:
			return false
		case c.Replied != 0 && c.Sent < from:
			answered = max(answered, c.Sent)
		}
	}
	told := slices.ContainsFunc(o.Ops, func(op history.Operation) bool {
		return op.Op == history.Lost && op.Client == use.Client && use.Call <= op.Call && op.Call <= use.Return
	})
	hindered := slices.ContainsFunc(o.Windows, func(w history.Window) bool {
		return hinders(w, use.Client) && w.Last() > from && w.Start < use.Return && !w.Does.Any(history.LosesRequests|history.LosesReplies)
	})
	return !told && !hindered && from < answered+int64(o.Program.Config.Lease)*4/5
}

// stalled returns a violation of progress by a client, with the last lines of its story and what it
// shows.
func stalled(o sim.Outcome, client string, at int64, format string, args ...any) broken {
	lines := eventsUntil(o, at)
	lines = append(lines[max(0, len(lines)-10):], fmt.Sprintf(format, args...))
	return broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, client: client, at: at, final: true, Story: lines}
}

// stuckMargin is how long, in leases, the last fault of a client must have ended before the end of
// the schedule for the client to count as stuck.
const stuckMargin = 10

// ignoresContext reports an acquire that returned long after its context had ended. It allows for a
// request under way, and for a check once a second.
func ignoresContext(o sim.Outcome, op history.Operation) (broken, bool) {
	if op.Op != history.Acquire || op.Return >= int64(o.Virtual) || slices.ContainsFunc(o.Windows, func(w history.Window) bool {
		return w.Does.Any(history.Kills) && w.Client == op.Client || hinders(w, op.Client) && w.Start <= op.Return && (w.End == 0 || w.End >= op.Call)
	}) {
		return broken{}, false
	}
	end := op.Call + int64(o.Program.Config.AcquireWait)
	for _, w := range o.Windows {
		if w.Does.Any(history.CancelsCall) && w.Confirmed && w.Client == op.Client && w.Start >= op.Call && w.Start < end {
			end = w.Start
		}
	}
	if op.Return <= end+int64(max(o.Program.Config.Lease, time.Second)+o.Waited) {
		return broken{}, false
	}
	return stalled(o, op.Client, op.Return, "%s: the context of its acquire ended at %v, and it returned at %v",
		op.Client, time.Duration(end), time.Duration(op.Return)), true
}
