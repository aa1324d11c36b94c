package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/story"
	"github.com/lockbench/lockbench/verdicts"
)

// broken is one property that a schedule broke, and why.
type broken struct {
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	Story    []string          `json:"story,omitempty"`
	Excepted bool              `json:"excepted,omitempty"` // no lock with a lease can prevent it when its client stalls
	final    bool              // no fault excuses it
	expired  bool              // a client was inside by a grant that was over when it was told, of a lock that promises to give none
	client   string            // the one wronged first
	at       int64
}

// key is "property/cause".
func (b broken) key() string { return string(b.Property) + "/" + string(b.Cause) }

// judge tells what an outcome broke. A panic and a client that does not end are progress broken, goroutines left behind are hygiene. Stories take longer than
// the schedule: they are told of what is found, not of what is looked at.
func judge(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error) {
	var x explainer
	defer x.close()
	return x.judge(ctx, out, p, stories)
}

// judge is judge with a node that many outcomes are explained on.
func (x *explainer) judge(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error) {
	if out.Unexplorable {
		return nil, nil
	}
	if out.Crash != "" {
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: []string{out.Crash}}}, nil
	}
	if out.Left != "" {
		return []broken{{Property: verdicts.Hygiene, Cause: verdicts.Orphan, Story: []string{"goroutines are left behind: " + out.Left}}}, nil
	}
	if out.Loop != nil {
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: out.Loop}}, nil
	}
	v, err := x.check(ctx, out, p, stories)
	if err != nil {
		return nil, err
	}
	var all []broken
	for _, x := range v.Violations {
		all = append(all, broken{Property: x.Property, Cause: x.Cause, Story: x.Story, client: first(x.Clients), at: x.At + x.Lasted,
			expired: p.Variant.Traits.LooksTwice && x.Property == verdicts.ExclusiveUse && grantedAfterExpiry(out.Ops, x)})
	}
	all = append(all, livenessFindings(out, p)...)
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
		all[i].Excepted = !b.final && b.Property == verdicts.Progress && b.Cause == verdicts.CauseUnknown && hindered(b.client, windows)
	}
	for _, b := range all {
		if b.Property == verdicts.MutualExclusion || b.Property == verdicts.ReleaseSafety {
			return all
		}
	}
	for i, b := range all {
		if b.Property == verdicts.ExclusiveUse && !b.expired || b.Property == verdicts.StoreIntegrity && !fenced {
			all[i].Excepted = true
		}
	}
	return all
}

// Check judges an outcome with the package checker, and explains what it finds with the package explain.
func (o Outcome) Check(ctx context.Context, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	var x explainer
	defer x.close()
	return x.checkWith(ctx, o, opt)
}

func (x *explainer) checkWith(ctx context.Context, o Outcome, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	ofLock := slices.DeleteFunc(slices.Clone(o.Commands), func(c history.Command) bool { return c.Node == storeNode })
	v, err := checker.Check(ctx, checker.Input{Header: o.Header, Ops: &operations{o.Ops}, Commands: ofLock, Faults: o.Windows}, opt)
	if err != nil || len(v.Violations) == 0 {
		return v, explain.Findings{}, err
	}
	history.LinkCommands(o.Ops, ofLock)
	found, err := x.explain(v, explain.Record{Header: o.Header, Ops: o.Ops, Commands: ofLock, Scripts: o.Scripts, Faults: o.Windows})
	return v, found, err
}

func (x *explainer) check(ctx context.Context, out Outcome, p Program, stories bool) (*checker.Verdict, error) {
	opt := checker.Options{MaxViolations: 1, Bare: !stories, Unsearched: !stories, HandOver: int64(handOver(out, p))}
	if out.Final != nil {
		opt.Store = map[string]checker.StoreEnds{guardedKey(p): {Initial: out.Initial, Final: out.Final}}
	}
	v, _, err := x.checkWith(ctx, out, opt)
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

// What a lock does that no operation of its client shows: it is seen on the wire, and on the clock.

// idleMargin is how long after its last operation a client still counts as being in it, as a share of the lease: goroutines of the lock may have to end.
const idleMargin = 100

// idle reports whether a client has neither a hold nor an operation under way.
func (w *world) idle(c *client) bool {
	return len(c.open) == 0 && c.granted == 0 && w.timeline() > c.returned+int64(w.program.Config.Lease)/idleMargin
}

// beforeRenewal is the data that a command of an idle client may make last longer; nil when it cannot.
func (w *world) beforeRenewal(q *request) *dataset {
	if !q.idle || q.conn.target() < 0 || !resp.IsWrite(q.name) {
		return nil
	}
	d := q.conn.server.copy(time.Now())
	return &d
}

// A client that sends loopAfter commands in one operation while no time passes does so for ever. No operation takes so many.
const loopAfter = 500

// countBurst counts a command, and ends the schedule when its client sends commands for ever.
func (w *world) countBurst(c *client) {
	if c.commandsSince++; c.commandsSince < loopAfter || w.loop != nil {
		return
	}
	w.loop = []string{fmt.Sprintf("%s sends commands without end while no time passes:", c.name)}
	for _, c := range period(c.commands) {
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

// livenessFindings finds what broke progress though no operation shows it: an acquire that outlasts its context, a client that never ends, a hold that is made to
// last longer by a client that has none.
func livenessFindings(out Outcome, p Program) (all []broken) {
	for _, op := range out.Ops {
		if b, ok := ignoresContext(out, p, op); ok {
			all = append(all, b)
			break
		}
	}
	for _, name := range out.Stuck {
		if b, ok := clientStuck(out, p, name); ok {
			all = append(all, b)
		}
	}
	if len(out.Renewed) > 0 {
		c := out.Renewed[0]
		all = append(all, broken{Property: verdicts.Progress, Cause: verdicts.Orphan, client: c.Client, at: c.Ran, Story: append(lastLines(out.Story(c.Ran)),
			fmt.Sprintf("%s has no hold and asks for none, and this made a hold last longer: %s %s", c.Client, c.Name, strings.Join(c.Args, " ")))})
	}
	return all
}

// stuckMargin is how long before the end of a schedule the last fault of a client that is still at work must have ended, in leases, for it to be stuck.
const stuckMargin = 10

// clientStuck judges a client that had not ended at the horizon.
func clientStuck(out Outcome, p Program, name string) (broken, bool) {
	since := int64(out.Virtual) - stuckMargin*int64(p.Config.Lease)
	if slices.ContainsFunc(out.Windows, func(w history.Window) bool { return hinders(w, name) && (w.End == 0 || w.End > since) }) {
		return broken{}, false
	}
	doing := "does not end"
	for _, op := range out.Ops {
		if op.Client == name && op.Return >= int64(out.Virtual) && op.Op != history.Use {
			doing = fmt.Sprintf("has called %s at %v, and it has not returned", op.Op, time.Duration(op.Call).Round(time.Microsecond))
		}
	}
	return broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, client: name, at: int64(out.Virtual), final: true,
		Story: append(lastLines(out.Story(int64(out.Virtual))), fmt.Sprintf("%s %s, %v after the start", name, doing, out.Virtual.Round(time.Millisecond)))}, true
}

// ignoresContext judges an acquire that returned long after its context had ended. What a request takes that is on its way then, and a look at
// the clock once a second, is given.
func ignoresContext(out Outcome, p Program, op history.Operation) (broken, bool) {
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
	return broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, client: op.Client, at: op.Return, final: true, Story: append(lastLines(out.Story(op.Return)),
		fmt.Sprintf("%s: the context of its acquire ended at %v, and it returned at %v", op.Client, time.Duration(end), time.Duration(op.Return)))}, true
}

// lastLines are as many lines of a story as say how it came to its end.
func lastLines(story []string) []string { return story[max(0, len(story)-10):] }

// grantedAfterExpiry reports whether one of the clients of an overlap of uses was told of its last grant before it when that was over, by the
// grant's own word. In virtual time nothing passes between what a lock reads from its clock and what it answers.
func grantedAfterExpiry(ops []history.Operation, v checker.Violation) bool {
	for _, client := range v.Clients {
		if g := lastGrant(ops, client, v.At); g != nil && g.ValidUntil != 0 && g.ValidUntil < g.Return {
			return true
		}
	}
	return false
}

// lastGrant is the last grant that a client was told of by an instant; nil when there is none.
func lastGrant(ops []history.Operation, client string, at int64) (last *history.Operation) {
	for i := range ops {
		op := &ops[i]
		granted := op.Op == history.Acquire && op.Outcome == history.OK && op.Client == client && op.Return <= at
		if granted && (last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last
}

// Explain finds the causes of a verdict's violations from the record that it was reached on, on a simulated node, and tells their stories, unless
// the check was a bare one. The error is that of the server inside.
func Explain(v *checker.Verdict, rec explain.Record) (explain.Findings, error) {
	var x explainer
	defer x.close()
	return x.explain(v, rec)
}

// explainer explains violations on one simulated node, which it starts for the first: that takes as long as a schedule.
type explainer struct{ server *Server }

func (x *explainer) explain(v *checker.Verdict, rec explain.Record) (found explain.Findings, err error) {
	if len(v.Violations) == 0 {
		return explain.Findings{}, nil
	}
	if x.server == nil {
		if x.server, err = NewServer(); err != nil {
			return found, err
		}
	}
	found = explain.Verdict(v, rec, x.server)
	story.Tell(v, found.Answers, rec.Commands)
	return found, nil
}

func (x *explainer) close() {
	if x.server != nil {
		x.server.Close()
	}
}
