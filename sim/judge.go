package sim

import (
	"context"
	"fmt"
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

type broken struct {
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	Story    []string          `json:"story,omitempty"`
	Excepted bool              `json:"excepted,omitempty"` // no lock with a lease can prevent it when its client stalls
	final    bool              // no fault excuses it
	expired  bool              // the grant of a client inside had expired when it was returned, though the lock promises not to return such grants
	stopped  bool              // the client could not be told that its hold was lost, because it was paused
	client   string            // the first client affected
	at       int64
}

// key returns "property/cause".
func (b broken) key() string { return string(b.Property) + "/" + string(b.Cause) }

// judge returns the violations of an outcome. A panic and a client that does not end violate progress; goroutines left behind violate hygiene.
// stories asks for the stories, which take longer than the schedule itself, so they are made only for findings.
func (x *explainer) judge(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error) {
	switch {
	case out.Unexplorable:
		return nil, nil
	case out.Crash != "":
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: []string{out.Crash}}}, nil
	case out.Left != "":
		return []broken{{Property: verdicts.Hygiene, Cause: verdicts.Orphan, Story: []string{"goroutines are left behind: " + out.Left}}}, nil
	case out.Loop != nil:
		return []broken{{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, Story: out.Loop}}, nil
	}
	opt := checker.Options{MaxViolations: 1, Bare: !stories, Unsearched: !stories, HandOver: int64(handOver(out, p)), Store: out.Store}
	v, _, err := x.check(ctx, out, opt)
	if err != nil {
		return nil, fmt.Errorf("judge a schedule: %w", err)
	}
	var all []broken
	for _, x := range v.Violations {
		all = append(all, broken{Property: x.Property, Cause: x.Cause, Story: x.Story, client: first(x.Clients), at: x.At + x.Lasted,
			stopped: p.Variant.Traits.NotifiesLoss && x.Cause == verdicts.Overbelief && stopped(out.Windows, x),
			expired: p.Variant.Traits.LooksTwice && x.Property == verdicts.ExclusiveUse && grantedAfterExpiry(out.Ops, x)})
	}
	unshown, err := x.livenessFindings(out, p)
	if err != nil {
		return nil, err
	}
	all = append(all, unshown...)
	return except(all, out.Windows, p.Variant.Traits.Fenced), nil
}

// withKey returns the first violation with a key; false if there is none.
func withKey(all []broken, key string) (broken, bool) {
	for _, b := range all {
		if b.key() == key {
			return b, true
		}
	}
	return broken{}, false
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func hinders(w history.Window, client string) bool {
	kind, _ := faults.FindKind(w.Fault)
	return (w.Client == client || w.Client == "") && kind.Hinders
}

// awakes is how soon after a pause a client has been told of a loss.
const awakes = int64(time.Millisecond)

// stopped reports whether a client was paused for as long as it believed beside another: it learns of its loss when it runs again.
func stopped(windows []history.Window, x checker.Violation) bool {
	return slices.ContainsFunc(windows, func(w history.Window) bool {
		return w.Fault == faults.PauseClient && slices.Contains(x.Clients, w.Client) && w.Start <= x.At && w.Last()+awakes >= x.At+x.Lasted
	})
}

// except marks the violations for which the lock is not to blame: two clients were inside, or the store was damaged, although no two beliefs
// overlapped and no release ended another's hold: a client outlived its lease. This excuses neither what another's request did nor a grant that had
// expired when it was returned, and a lock with fences must protect the store all the same. Nor is the lock to blame if it reports a loss and its
// client was paused, or if a client whose own messages are delayed does not get it.
func except(all []broken, windows []history.Window, fenced bool) []broken {
	for i, b := range all {
		hindered := slices.ContainsFunc(windows, func(w history.Window) bool { return hinders(w, b.client) })
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
		if b.stopped || outlived && !endedByAnother {
			all[i].Excepted = true
		}
	}
	return all
}

// Check checks an outcome with package checker, and explains its violations with package explain.
func (o Outcome) Check(ctx context.Context, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	var x explainer
	defer x.close()
	return x.check(ctx, o, opt)
}

func (x *explainer) check(ctx context.Context, o Outcome, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	v, err := checker.Check(ctx, checker.Input{Header: o.Header, Ops: history.NewSlice(o.Ops), Commands: o.Commands, Faults: o.Windows}, opt)
	if err != nil || len(v.Violations) == 0 {
		return v, explain.Findings{}, err
	}
	found, err := x.explain(v, o.record())
	return v, found, err
}

func (o Outcome) record() explain.Record {
	return explain.Record{Header: o.Header, Ops: o.Ops, Commands: o.Commands, Scripts: o.Scripts, Faults: o.Windows}
}

// handOver returns how soon a waiter must get a lock that was released, if the lock promises it: half the polling interval, for a lock that wakes
// its waiters, in a schedule without faults, plus the time that the search let pass. 0 means no promise.
func handOver(out Outcome, p Program) time.Duration {
	if !p.Variant.Traits.Wakeups || len(out.Windows) > 0 {
		return 0
	}
	return out.Waited + p.Poll/2
}

// What a lock does outside its client's operations shows on the wire and on the clock.

// A client counts as active until a lease divided by idleMargin after its last operation: goroutines of the lock may still be ending.
const idleMargin = 100

// wasIdle reports whether a client had neither a hold nor an operation under way at an instant, nor shortly before.
func wasIdle(ops []history.Operation, p Program, client string, at int64) bool {
	holds := 0
	for _, op := range ops {
		switch {
		case op.Client != client || op.Call > at:
		case op.Return+int64(p.Config.Lease)/idleMargin >= at && op.Op != history.Extend:
			return false
		case op.Op == history.Acquire && op.Outcome == history.OK:
			holds++
		case op.Op == history.Release && !mayStillHold(p.Variant.Kind, op):
			holds = max(holds-1, 0)
		}
	}
	return holds == 0
}

// mayStillHold reports whether a release may have left a hold that the client should keep alive: a failed one of a re-entrant lock may have been an
// inner one, which the server still counts. With other locks a renewal after the release is useless, whatever the outcome.
func mayStillHold(kind history.Kind, op history.Operation) bool {
	return kind == history.Reentrant && (op.Outcome == history.Fail || op.Outcome == history.Unknown)
}

// renewed returns the commands of clients with neither a hold nor an operation under way by which data expires later than before. A node that executes
// the recorded commands again shows what they did; it is needed only if one of them may have renewed something.
func (x *explainer) renewed(out Outcome, p Program) (found []history.Command, err error) {
	suspect := func(c history.Command) bool {
		return c.Node != storeNode && resp.IsWrite(c.Name) && (c.Replied != 0 || c.Ran != 0) && wasIdle(out.Ops, p, c.Client, c.Sent)
	}
	if !slices.ContainsFunc(out.Commands, suspect) {
		return nil, nil
	}
	if err := x.start(); err != nil {
		return nil, err
	}
	for _, e := range explain.Replay(out.record(), x.server).Events {
		if !slices.ContainsFunc(e.Changes, prolongs) {
			continue
		}
		for _, c := range out.Commands {
			if c.Node == e.Node && c.Conn == e.Conn && c.Name == e.Name && ranAt(c, e.At) && suspect(c) {
				c.Ran = e.At
				found = append(found, c)
			}
		}
	}
	return found, nil
}

func ranAt(c history.Command, at int64) bool {
	return c.Ran == at || c.Ran == 0 && c.Sent <= at && at <= c.Replied
}

// prolongs reports whether a change lets a key expire later, or raises the score of a member, which may be an instant.
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

// loopAfter is how many commands, in one operation and within a lease divided by idleMargin, make a client count as looping: one that polls sends few.
const loopAfter = 500

// countBurst counts a command, and ends the schedule if its client loops.
func (w *world) countBurst(c *client) {
	if w.now() > c.burstBegan+w.program.Config.Lease/idleMargin {
		c.commandsSince, c.burstBegan = 0, w.now()
	}
	if c.commandsSince++; c.commandsSince < loopAfter || w.out.Loop != nil {
		return
	}
	w.out.Loop = []string{fmt.Sprintf("%s sends %d commands in %v without end:", c.name, loopAfter, (w.now() - c.burstBegan).Round(time.Microsecond))}
	for _, c := range period(c.commands) {
		w.out.Loop = append(w.out.Loop, commandLine(c).text)
	}
}

// period returns the shortest sequence that the last commands repeat.
func period(all []history.Command) []history.Command {
	same := func(a, b history.Command) bool { return a.Name == b.Name && a.Script == b.Script && a.Node == b.Node }
	all = all[max(0, len(all)-loopAfter):]
	for n := 1; n <= len(all)/3; n++ {
		last, before := all[len(all)-n:], all[len(all)-2*n:len(all)-n]
		if slices.EqualFunc(last, before, same) {
			return before // the earlier ones have their replies
		}
	}
	return all[max(0, len(all)-10):]
}

// livenessFindings returns the violations of progress that no operation shows: of a context that is ignored, a client without end, a needless renewal.
func (x *explainer) livenessFindings(out Outcome, p Program) (all []broken, err error) {
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
	renewals, err := x.renewed(out, p)
	if len(renewals) > 0 {
		c := renewals[0]
		b := out.stalled(c.Client, c.Ran, "%s has no hold and asks for none, and this made a hold last longer: %s %s", c.Client, c.Name, strings.Join(c.Args, " "))
		b.Cause = verdicts.Orphan
		all = append(all, b)
	}
	return all, err
}

// stalled returns a violation of progress by a client, with the last lines of its story and what it shows.
func (o Outcome) stalled(client string, at int64, format string, args ...any) broken {
	lines := o.story(at)
	lines = append(lines[max(0, len(lines)-10):], fmt.Sprintf(format, args...))
	return broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown, client: client, at: at, final: true, Story: lines}
}

// stuckMargin is how long, in leases, the last fault of a client must have ended before the end of the schedule for the client to count as stuck.
const stuckMargin = 10

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
	return out.stalled(name, int64(out.Virtual), "%s %s, %v after the start", name, doing, out.Virtual.Round(time.Millisecond)), true
}

// ignoresContext reports an acquire that returned long after its context had ended. It allows for a request under way, and for a check once a second.
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
	return out.stalled(op.Client, op.Return, "%s: the context of its acquire ended at %v, and it returned at %v",
		op.Client, time.Duration(end), time.Duration(op.Return)), true
}

// grantedAfterExpiry reports whether, in an overlap of uses, the last grant of one client had expired, by its own valid-until, when it was
// returned. In virtual time none passes between the lock's reading of the clock and its return.
func grantedAfterExpiry(ops []history.Operation, v checker.Violation) bool {
	for _, client := range v.Clients {
		if g := lastGrant(ops, client, v.At); g != nil && g.ValidUntil != 0 && g.ValidUntil < g.Return {
			return true
		}
	}
	return false
}

// lastGrant returns the last grant returned to a client by an instant; nil if there is none.
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

// Explain finds, on a simulated node, the causes of a verdict's violations, and adds their stories unless the check was bare. Errors are miniredis'.
func Explain(v *checker.Verdict, rec explain.Record) (explain.Findings, error) {
	var x explainer
	defer x.close()
	return x.explain(v, rec)
}

// explainer explains violations on one simulated node, which it starts when first needed: a start takes as long as a schedule.
type explainer struct{ server *Server }

func (x *explainer) explain(v *checker.Verdict, rec explain.Record) (found explain.Findings, err error) {
	if len(v.Violations) == 0 {
		return explain.Findings{}, nil
	}
	if err := x.start(); err != nil {
		return found, err
	}
	found = explain.Verdict(v, rec, x.server)
	story.Tell(v, found, rec.Commands)
	return found, nil
}

func (x *explainer) start() (err error) {
	if x.server == nil {
		x.server, err = NewServer()
	}
	return err
}

func (x *explainer) close() {
	if x.server != nil {
		x.server.Close()
	}
}

type storyLine struct {
	at    int64
	text  string
	same  string // consecutive lines with the same text here are joined
	times int
}

// story returns the commands with their replies, faults and entries of clients up to an instant, as numbered lines; repeated refusals are one.
func (o Outcome) story(until int64) []string {
	var lines []storyLine
	for _, c := range o.Commands {
		lines = append(lines, commandLine(c))
	}
	for _, w := range o.Windows {
		lines = append(lines, windowLines(w)...)
	}
	for _, op := range o.Ops {
		if op.Op == history.Use {
			lines = append(lines, storyLine{at: op.Call, text: op.Client + " is inside its critical section"})
		}
	}
	lines = slices.DeleteFunc(lines, func(l storyLine) bool { return l.at > until })
	slices.SortStableFunc(lines, func(a, b storyLine) int { return int(a.at - b.at) })
	return numbered(joined(lines))
}

func commandLine(c history.Command) storyLine {
	reply := c.Reply
	if c.Replied == 0 {
		reply = "no reply is seen"
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = short(a)
	}
	text := fmt.Sprintf("%s: %s %s = %s", c.Client, c.Name, strings.Join(args, " "), reply)
	return storyLine{at: c.Sent, text: text, same: c.Client + c.Name + reply}
}

// short truncates long words such as tokens.
func short(s string) string {
	if len(s) > 20 {
		return s[:8] + "…"
	}
	return s
}

func windowLines(w history.Window) []storyLine {
	who := w.Client
	if who == "" && w.Node >= 0 {
		who = nodeName(w.Node)
	}
	begin := storyLine{at: w.Start, text: strings.TrimSpace(who + " " + w.Fault)}
	if w.End <= w.Start {
		return []storyLine{begin}
	}
	return []storyLine{begin, {at: w.End, text: strings.TrimSpace(who+" "+w.Fault) + " is over"}}
}

func joined(lines []storyLine) []storyLine {
	var out []storyLine
	for _, l := range lines {
		l.times = 1
		if last := len(out) - 1; last >= 0 && l.same != "" && out[last].same == l.same {
			out[last].times++
			continue
		}
		out = append(out, l)
	}
	return out
}

func numbered(lines []storyLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		again := ""
		if l.times > 1 {
			again = fmt.Sprintf(" (%d times)", l.times)
		}
		out[i] = fmt.Sprintf("%2d. %8.3f s  %s%s", i+1, time.Duration(l.at).Seconds(), l.text, again)
	}
	return out
}
