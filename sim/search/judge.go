package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// judge returns the violations of an outcome. A panic and a client that does not end violate
// progress; goroutines left behind violate hygiene. It also returns which of the properties had
// something to judge. stories asks for the stories, which take longer than the schedule itself, so
// they are made only for findings.
func (x *explainer) judge(ctx context.Context, out sim.Outcome, stories bool) ([]broken, history.Reach, error) {
	switch {
	case out.Unexplorable:
		return nil, nil, nil
	case out.Crash != "":
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: []string{out.Crash}}}, nil, nil
	case out.Left != "":
		return []broken{{Property: verdicts.Hygiene, Cause: verdicts.Orphan, Story: []string{"goroutines are left behind: " + out.Left}}}, nil, nil
	case out.Loop != nil:
		l := out.Loop
		lines := []string{fmt.Sprintf("%s sends %d commands in %v without end:", l.Client, l.Sent, l.In.Round(time.Microsecond))}
		for _, c := range l.Commands {
			lines = append(lines, commandLine(c).text)
		}
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: lines}}, nil, nil
	}
	traits := out.Program.Variant.Traits
	opt := checker.Options{MaxViolations: 1, Bare: !stories, Unsearched: !stories, Store: out.Store}
	// In a schedule without faults, a lock that wakes its waiters promises that one of them gets a
	// released lock within half the polling interval, plus the time that the search let pass.
	if traits.Wakeups && len(out.Windows) == 0 {
		opt.HandOver = int64(out.Waited + out.Program.Poll/2)
	}
	v, err := checker.Check(ctx, checker.Input{Header: out.Header, Ops: history.NewSlice(out.Ops), Commands: out.Commands, Faults: out.Windows, Effects: out.Effects}, opt)
	if err == nil {
		_, err = x.Explain(ctx, v, record(out))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("judge a schedule: %w", err)
	}
	var all []broken
	for _, x := range v.Violations {
		all = append(all, broken{Property: x.Property, Cause: x.Cause, Story: x.Story, client: cmp.Or(x.Clients...), at: x.At + x.Lasted,
			stopped: traits.NotifiesLoss && x.Cause == verdicts.Overbelief && stopped(out.Windows, x),
			expired: traits.LooksTwice && x.Property == verdicts.ExclusiveUse && grantedAfterExpiry(out.Ops, x)})
	}
	unshown, err := x.livenessFindings(out)
	if err != nil {
		return nil, nil, err
	}
	all = append(all, unshown...)
	return except(all, out), judged(v, traits), nil
}

// awakes is how soon after a pause, or the end of a lease, a client has been told of a loss.
const awakes = int64(time.Millisecond)

// stopped reports whether a client was paused for as long as it believed beside another: it learns
// of its loss when it runs again. Nor does a notice at the end of a lease come in no time.
func stopped(windows []history.Window, x checker.Violation) bool {
	return x.Lasted <= awakes || slices.ContainsFunc(windows, func(w history.Window) bool {
		return w.Does.Any(history.Stops) && !w.Does.Any(history.Kills) && slices.Contains(x.Clients, w.Client) && w.Start <= x.At && w.Last()+awakes >= x.At+x.Lasted
	})
}

// except marks the violations for which the lock is not to blame: two clients were inside, or the
// store was damaged, although no two beliefs overlapped and no release ended another's hold: a
// client outlived its lease. This excuses neither what another's request did, nor a grant that had
// expired when it was returned, nor a lease that the lock promised to renew and could have (in real
// time its thread may be late), and a lock with fences must protect the store all the same. Nor is
// the lock to blame if it reports a loss and its client was paused, or if a client whose own
// messages are delayed does not get it.
func except(all []broken, out sim.Outcome) []broken {
	fenced := out.Program.Variant.Traits.Fenced
	for i, b := range all {
		hindered := slices.ContainsFunc(out.Windows, func(w history.Window) bool { return hinders(w, b.client) })
		all[i].Excepted = !b.final && b.Property == verdicts.Progress && b.Cause == verdicts.CauseUnknown && hindered
	}
	for _, b := range all {
		if b.Property == verdicts.MutualExclusion && !b.stopped || b.Property == verdicts.ReleaseSafety {
			return all
		}
	}
	for i, b := range all {
		outlived := b.Property == verdicts.ExclusiveUse && !b.expired || b.Property == verdicts.StoreIntegrity && !fenced
		endedByAnother := b.Cause == verdicts.MisUnlock || b.Cause == verdicts.ReaderEvicted
		unrenewed := b.Cause == verdicts.RenewalGap && !inRealTime(out)
		if b.stopped || outlived && !endedByAnother && !unrenewed {
			all[i].Excepted = true
		}
	}
	return all
}

// grantedAfterExpiry reports whether, in an overlap of uses, the last grant of one client had
// expired, by its own valid-until, when it was returned. In virtual time none passes between the
// lock's reading of the clock and its return.
func grantedAfterExpiry(ops []history.Operation, v checker.Violation) bool {
	for _, client := range v.Clients {
		var last history.Operation
		for _, op := range ops {
			granted := op.Op == history.Acquire && op.Outcome == history.OK && op.Client == client && op.Return <= v.At
			if granted && op.Return >= last.Return {
				last = op
			}
		}
		if last.ValidUntil != 0 && last.ValidUntil < last.Return {
			return true
		}
	}
	return false
}

const toJudge = "something to judge by "

// judged counts the properties that had something to judge in a schedule, of those that the lock
// promises.
func judged(v *checker.Verdict, t impls.Traits) history.Reach {
	c := history.Reach{}
	for _, p := range v.Properties {
		promised := p.Name == verdicts.FencingOrder && t.Fenced || p.Name == verdicts.Renewal && t.Extends ||
			p.Name == verdicts.MutualExclusion || p.Name == verdicts.ExclusiveUse || p.Name == verdicts.ReleaseSafety
		if promised || p.Verdict != checker.NotApplicable {
			c[toJudge+string(p.Name)] = min(p.Opportunities, 1)
		}
	}
	return c
}
