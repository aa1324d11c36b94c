package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// broken is one property that a schedule broke, and why.
type broken struct {
	Property history.Property `json:"property"`
	Cause    history.Cause    `json:"cause"`
	Story    []string         `json:"story,omitempty"`
	Excepted bool             `json:"excepted,omitempty"` // no lock with a lease can prevent it when its client stalls
	final    bool             // no fault excuses it
	overdue  bool             // a client was inside by a grant that was over when it was told, of a lock that promises to give none
	client   string           // the one wronged first
	at       int64
}

// key is "property/cause".
func (b broken) key() string { return string(b.Property) + "/" + string(b.Cause) }

// judge tells what an outcome broke. A panic and a client that does not end are progress broken, goroutines left behind are hygiene. Stories take longer than
// the schedule: they are told of what is found, not of what is looked at.
func judge(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error) {
	if out.Unexplorable {
		return nil, nil
	}
	if out.Crash != "" {
		return []broken{{Property: history.Progress, Cause: history.CauseUnknown, Story: []string{out.Crash}}}, nil
	}
	if out.Left != "" {
		return []broken{{Property: history.Hygiene, Cause: history.Orphan, Story: []string{"goroutines are left behind: " + out.Left}}}, nil
	}
	if out.Loop != nil {
		return []broken{{Property: history.Progress, Cause: history.CauseUnknown, Story: out.Loop}}, nil
	}
	v, err := check(ctx, out, p, stories)
	if err != nil {
		return nil, err
	}
	var all []broken
	for _, x := range v.Violations {
		all = append(all, broken{Property: x.Property, Cause: x.Cause, Story: x.Story, client: first(x.Clients), at: x.At + x.Lasted,
			overdue: p.Variant.Traits.LooksTwice && x.Property == history.ExclusiveUse && toldTooLate(out.Ops, x)})
	}
	all = append(all, ownWay(out, p)...)
	return except(all, out.Windows, p.Variant.Traits.Fenced), nil
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// hindered reports whether a client itself met a fault that kept it from getting the lock.
func hindered(client string, windows []history.Window) bool {
	return slices.ContainsFunc(windows, func(w history.Window) bool { return hinders(w, client) })
}

// hinders reports whether a fault keeps a client from getting the lock.
func hinders(w history.Window, client string) bool {
	kind, _ := faults.FindKind(w.Fault)
	return (w.Client == client || w.Client == "") && kind.Hinders
}

// except marks the violations that are nobody's fault: two clients were inside, or the store was damaged, though no two were told at
// the same time that they hold and no release ended another's hold. A client outlived its lease; one that was told of its hold when that
// was over outlived nothing. A lock with fences must save the store all the same. Nor is it the lock's fault that a client whose own messages are held up does not get it.
func except(all []broken, windows []history.Window, fenced bool) []broken {
	for i, b := range all {
		all[i].Excepted = !b.final && b.Property == history.Progress && b.Cause == history.CauseUnknown && hindered(b.client, windows)
	}
	for _, b := range all {
		if b.Property == history.MutualExclusion || b.Property == history.ReleaseSafety {
			return all
		}
	}
	for i, b := range all {
		if b.Property == history.ExclusiveUse && !b.overdue || b.Property == history.StoreIntegrity && !fenced {
			all[i].Excepted = true
		}
	}
	return all
}

// Check judges an outcome with the package checker, and explains what it finds with the package explain.
func (o Outcome) Check(ctx context.Context, opt checker.Options) (*checker.Verdict, error) {
	ofLock := slices.DeleteFunc(slices.Clone(o.Commands), func(c history.Command) bool { return c.Node == storeNode })
	v, err := checker.Check(ctx, checker.Input{Header: o.Header, Ops: &operations{o.Ops}, Commands: ofLock, Faults: o.Windows}, opt)
	if err != nil || len(v.Violations) == 0 {
		return v, err
	}
	history.LinkCommands(o.Ops, ofLock)
	return v, Explain(v, explain.Record{Header: o.Header, Ops: o.Ops, Commands: ofLock, Scripts: o.Scripts, Faults: o.Windows})
}

func check(ctx context.Context, out Outcome, p Program, stories bool) (*checker.Verdict, error) {
	opt := checker.Options{MaxViolations: 1, Bare: !stories, HandOver: int64(handOver(out, p))}
	if out.Final != nil {
		opt.Store = map[string]checker.StoreEnds{guardedKey(p): {Initial: out.Initial, Final: out.Final}}
	}
	v, err := out.Check(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("judge a schedule: %w", err)
	}
	return v, nil
}

// handOver is within what time a waiter must have a lock that was given back, where that is promised: half the time after which a waiter that
// nobody wakes looks again, for a lock that wakes its waiters, in a schedule without faults. Time that the search let pass does not count.
func handOver(out Outcome, p Program) time.Duration {
	if !p.Variant.Traits.Wakeups || len(out.Windows) > 0 {
		return 0
	}
	return out.Waited + p.Poll/2
}

// operations is a history in memory.
type operations struct{ left []history.Operation }

var _ checker.Source = (*operations)(nil)

// Next returns the next operation.
func (s *operations) Next(op *history.Operation) error {
	if len(s.left) == 0 {
		return io.EOF
	}
	*op, s.left = s.left[0], s.left[1:]
	return nil
}
