package explain

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// Answer is the cause of a violation and what shows it.
type Answer struct {
	Cause  verdicts.Cause // "" inside this package: no row fits
	Says   statement      // the answer to the question, in words
	Events []Event        // what happened to the mark, and the commands that led to it
}

// Event is evidence for an answer: something that happened, or did not happen, at a node.
type Event struct {
	At        int64
	Command   *history.Command   // nil: not a command
	Op        *history.Operation // in which the command was sent; nil: in the background
	Effect    *history.Effect    // of a fault; nil: none
	Lost      []string           // keys that the fault removed
	Holder    string             // the client whose mark it hit, perhaps its own; "": none
	Hit       Hit
	Key       string // that it hit
	Granted   bool   // the command granted its operation
	NoCommand bool   // the operation was granted without a command
}

// Hit is what an event did to a key.
type Hit string

// What an event may do to a key.
const (
	Freed   Hit = "freed"   // deleted the key
	Cut     Hit = "cut"     // removed a part of it
	Renewed Hit = "renewed" // moved its end
	Made    Hit = "made"    // created it
	Changed Hit = "changed"
)

// HitAnothers reports whether the event ended or changed the mark of another client than the
// command's.
func (e *Event) HitAnothers() bool {
	return e.Holder != "" && (e.Command == nil || e.Command.Client != e.Holder)
}

// hitOf returns what a change did to its key.
func hitOf(c *history.DataChange) Hit {
	switch {
	case c.Before == nil:
		return Made
	case c.After == nil:
		return Freed
	}
	before, after := c.Before.Parts(), c.After.Parts()
	for name := range before {
		if _, kept := after[name]; !kept {
			return Cut
		}
	}
	for name, text := range after {
		if before[name] != text {
			return Changed
		}
	}
	return Renewed
}

// report returns an event as evidence: what it did to a key that was holder's.
func (r *run) report(n *node, i int, key, holder string) Event {
	e := &n.events[i]
	out := Event{At: e.At, Command: e.cmd, Op: e.op, Holder: holder, Key: key}
	for j := range e.Changes {
		c := &e.Changes[j]
		if c.Key == key {
			out.Hit = hitOf(c)
		}
		if e.Effect != "" && c.After == nil {
			out.Lost = append(out.Lost, c.Key)
		}
	}
	if e.cmd == nil && e.Effect == "" { // a command of the effects alone
		out.Command = &history.Command{Client: e.Client, Node: e.Node, Conn: e.Conn, Op: e.Op, Sent: e.At, Replied: e.At, Name: e.Name, Script: e.Script, Args: e.Args, Reply: e.Reply}
	}
	out.Effect = r.effectOf(e)
	return out
}

// effectOf returns the effect of a fault that an event is, as the fault's window has it; nil: none.
func (r *run) effectOf(e *event) (found *history.Effect) {
	if e.Effect == "" || e.Effect == history.Expired {
		return nil
	}
	for _, x := range effects.OfFaults(r.Faults, e.Node) {
		if away := max(x.At-e.At, e.At-x.At); x.What == e.Effect && (found == nil || away < max(found.At-e.At, e.At-found.At)) {
			found = x
		}
	}
	return found
}

// statement is a sentence. Its parts are strings, and values that the caller formats: instants,
// which a story counts from its own first event, and recorded names.
type statement []any

// Parts of a sentence that are not text.
type (
	Instant int64  // of the run, in nanoseconds on its base
	Name    string // of a client, a command or a script
	Key     string // of the data
)

// Text joins the parts of a sentence; say formats the parts that are not text.
func (s statement) Text(say func(part any) string) string {
	var b strings.Builder
	for _, part := range s {
		if text, ok := part.(string); ok {
			b.WriteString(text)
		} else {
			b.WriteString(say(part))
		}
	}
	return b.String()
}

// sentence joins parts and sentences.
func sentence(parts ...any) (out statement) {
	for _, part := range parts {
		if s, ok := part.(statement); ok {
			out = append(out, s...)
			continue
		}
		out = append(out, part)
	}
	return out
}

// words describes an event, and when it happened.
func (n *node) words(i int, key string) statement {
	e := &n.events[i]
	at := sentence(" at ", Instant(e.At))
	switch e.Effect {
	case "":
		return sentence(Name(e.Client), "'s ", called(e.Name, e.Script, e.Args), at)
	case history.Expired:
		return sentence("the expiry of ", Key(key), at)
	}
	what := map[string]string{history.Restarted: "the restart", history.Promoted: "the promotion of the replica", history.Demoted: "the copy from another primary", history.ClockSet: "the jump of the clock",
		history.ClockRate: "the drift of the clock", history.Deleted: "the deletion by an operator", history.Evicted: "the eviction"}[e.Effect]
	return sentence(what, at)
}

// called returns the name of a command, as its client sent it.
func called(name, script string, args []string) statement {
	if script != "" && len(args) > 0 {
		return sentence(Name(name), " ", Name(args[0]))
	}
	return sentence(Name(name))
}

// onNodes names the nodes of several ends, if the lock has several.
func (r *run) onNodes(all []fate) string {
	var names []string
	for i := range all {
		if name := history.Node(all[i].node.index).String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(r.nodes) < 2 || len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}

// conclude answers by the end of a mark; all are the ends that count with it.
func (p *pair) conclude(f fate, all []fate) Answer {
	a := Answer{Cause: name(p, &f)}
	first, second := Name(p.first.op.Client), Name(p.second.Client)
	if f.at >= 0 {
		ended := p.report(f.node, f.at, f.key, p.first.op.Client)
		// what it has instead may be older
		if back := f.by == history.Promoted || f.by == history.Restarted; back && !slices.Contains(ended.Lost, f.key) {
			ended.Lost = append(ended.Lost, f.key)
		}
		a.Events = append(a.Events, ended)
	}
	if len(p.try) == 0 {
		a.Events = append(a.Events, Event{At: p.second.Return, Op: p.second, NoCommand: true})
		a.Says = sentence(second, " was granted it at ", Instant(p.second.Return), " without a request to a server")
		return a
	}
	granting, at := p.granting()
	switch {
	case f.at < 0 && a.Cause == verdicts.QuorumErosion:
		a.Says = sentence(second, " was granted it by ", strconv.Itoa(p.votes()), " nodes; a quorum is ", strconv.Itoa(p.quorum()))
		return a
	case f.by == never:
		a.Says = sentence("the grant of ", first, " left nothing at a server that could refuse ", granting, " at ", Instant(at))
	case f.by == apart:
		a.Says = sentence(history.Node(p.homeOf()).String(), " granted it to ", first, ", and ", history.Node(f.node.index).String(), " to ", second, ": there were two primaries")
	case f.at < 0:
		a.Says = sentence(first, "'s ", Key(f.key), " was still there when ", granting, " was granted at ", Instant(at), p.onNodes(all))
	case f.by == taken && f.node.events[f.at].Client == p.second.Client && f.node.events[f.at].Op == p.second.ID:
		a.Says = sentence(f.node.words(f.at, f.key), " overwrote ", Key(f.key), ", which was ", first, "'s", p.onNodes(all))
	case p.second.Op == history.Acquire:
		a.Says = sentence("without ", f.node.words(f.at, f.key), p.onNodes(all), ", ", second, " would have been refused")
	default:
		a.Says = sentence("without ", f.node.words(f.at, f.key), p.onNodes(all), ", ", granting, " at ", Instant(at), " would have found its hold")
	}
	a.Says = append(a.Says, p.besides(&f, a.Cause)...)
	if again := p.again(&f); again >= 0 && (a.Cause == verdicts.Resurrection || a.Cause == verdicts.MisUnlock) && f.by == expired {
		a.Events = append(a.Events, p.report(f.node, again, f.key, ""))
	}
	for i := range p.try {
		if q := &p.try[i]; q.event != nil && q.grants() && p.second.Op == history.Acquire {
			x := p.report(q.node, q.pos, "", "")
			x.Granted = true
			a.Events = append(a.Events, x)
			break
		}
	}
	return a
}

// besides adds to a sentence why a lease ended as it did.
func (p *pair) besides(f *fate, cause verdicts.Cause) statement {
	first := Name(p.first.op.Client)
	switch {
	case cause == verdicts.ClockSkew && f.by != expired:
		return sentence("; a client's clock was wrong")
	case cause == verdicts.LeaseOverrun && f.by != expired:
		return sentence("; ", first, " had been told that its lease was over")
	case f.by != expired:
		return nil
	}
	switch cause {
	case verdicts.ClockJump, verdicts.ClockSkew:
		return sentence(": the node's clock was wrong")
	case verdicts.Resurrection:
		return sentence("; ", f.node.words(p.again(f), f.key), " then created it again")
	case verdicts.MisUnlock:
		return sentence("; ", f.node.words(p.again(f), f.key), " then changed it")
	case verdicts.Overbelief:
		return sentence("; ", first, " had been told of a longer lease")
	case verdicts.RenewalGap:
		return sentence("; the lock did not renew it in time")
	}
	return nil
}

// granting names the request that granted the second, and when it was executed.
func (p *pair) granting() (statement, int64) {
	q := &p.try[len(p.try)-1]
	for i := range p.try {
		if p.try[i].grants() {
			q = &p.try[i]
		}
	}
	return sentence(Name(p.second.Client), "'s ", called(q.cmd.Name, q.cmd.Script, q.cmd.Args)), q.at
}

// homeOf returns the node that granted the first.
func (p *pair) homeOf() int {
	try := p.run.try(p.first.op, math.MaxInt64)
	return try[len(try)-1].node.index
}

// votes returns how many nodes granted the second.
func (p *pair) votes() int {
	nodes := map[int]bool{}
	for i := range p.try {
		if q := &p.try[i]; q.grants() {
			nodes[q.node.index] = true
		}
	}
	return len(nodes)
}

// counts reports whether a number was raised or lowered by one: others may count in the same part.
func counts(before, after string) bool {
	was, err := strconv.ParseInt(before, 10, 64)
	is, also := strconv.ParseInt(after, 10, 64)
	return err == nil && also == nil && (is == was+1 || is == was-1)
}

func firstKey(c *history.Command) string {
	if keys := resp.Keys(append([]string{c.Name}, c.Args...)); len(keys) > 0 {
		return keys[0]
	}
	return ""
}
