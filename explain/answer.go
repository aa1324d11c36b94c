package explain

import (
	"strings"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
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
	if e.Effect == "" || e.Effect == history.Expired {
		return out
	}
	for _, x := range effects.OfFaults(r.Faults, e.Node) { // as the fault's window has it
		if away := max(x.At-e.At, e.At-x.At); x.What == e.Effect && (out.Effect == nil || away < max(out.Effect.At-e.At, e.At-out.Effect.At)) {
			out.Effect = x
		}
	}
	return out
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
