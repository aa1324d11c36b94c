package explain

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Answer is the result of an experiment.
type Answer struct {
	Cause      verdicts.Cause // "" if there was no experiment, or it was inconclusive
	Experiment statement      // what was left out and with which effect; without an experiment, what the operations prove
	Events     []Event        // those that were left out, or that led to a grant
	Moved      []Event        // commands that had moved the end of a lease which the experiment names, in order
}

// Event is evidence for an answer: something that happened, or did not happen, on a node.
type Event struct {
	At        int64
	Command   *history.Command   // nil: not a command
	Op        *history.Operation // in which the command was sent; nil: sent in the background
	Effect    *history.Effect    // the effect of a fault; nil: not a fault
	Lost      []string           // keys that the effect deleted in the replay
	Holder    string             // client whose hold it ended or changed, perhaps its own; "": none, or not known
	Shared    bool               // what it ended or changed had been written by several clients, such as a mark of all readers
	Hit       Hit                // what it did to
	Key       string             // a key
	Granted   bool               // the command granted the operation
	NoCommand bool               // the operation was granted though no command was sent
	Votes     [2]int             // nodes that granted, and nodes of the lock; 0 of 0 where votes don't matter
}

// Hit is what a command did to a key.
type Hit string

// What a command may do to a key.
const (
	Freed   Hit = "freed"   // deleted the key
	Cut     Hit = "cut"     // deleted a part of the key
	Renewed Hit = "renewed" // moved the key's expiry
	Made    Hit = "made"    // created the key
	Changed Hit = "changed"
)

// hit returns what an event did to the first of the given keys that it changed; "" if it changed none of them.
func (e *event) hit(keys []string) (Hit, string) {
	for _, c := range e.changes {
		switch {
		case !slices.Contains(keys, c.key):
		case c.after == nil:
			return Freed, c.key
		case c.freed():
			return Cut, c.key
		case c.renewed():
			return Renewed, c.key
		case c.made():
			return Made, c.key
		default:
			return Changed, c.key
		}
	}
	return "", ""
}

// reported converts an event for an answer: holder is the client whose hold it hit, keys are those of the hold.
func (e *event) reported(holder string, keys []string) Event {
	out := Event{At: e.at, Command: e.cmd, Op: e.op, Effect: e.effect, Holder: holder}
	out.Hit, out.Key = e.hit(keys)
	for _, c := range e.changes {
		if e.effect != nil && c.after == nil {
			out.Lost = append(out.Lost, c.key)
		}
	}
	return out
}

// HitAnothers reports whether the event ended or changed the hold of another client than the command's.
func (e *Event) HitAnothers() bool {
	return e.Holder != "" && (e.Command == nil || e.Command.Client != e.Holder)
}

// report converts a command for an answer, with the client that had last written what the command changed. What several share is not the last one's.
func (n *node) report(i int, keys []string) Event {
	if w := n.writer(i, n.events[i].changes...); w >= 0 && !n.shared(i) {
		return n.events[i].reported(n.events[w].cmd.Client, keys)
	}
	return n.events[i].reported("", keys)
}

// moved returns the commands, from one event to another, that moved the end of keys which existed. It begins anew when one of them is created again.
func (n *node) moved(keys []string, from, to int) (all []Event) {
	for i := from; i < to; i++ {
		moves := false
		for _, c := range n.events[i].changes {
			switch {
			case !slices.Contains(keys, c.key):
			case c.made():
				all = nil
			default:
				moves = moves || c.after != nil && c.after.Expires != c.before.Expires
			}
		}
		if moves && n.events[i].cmd != nil {
			all = append(all, n.report(i, keys))
		}
	}
	return all
}

// shared reports whether, since its key was created, several clients had written a part that the i-th event changed. A grant that found it as it was
// and moved its expiry counts.
func (n *node) shared(i int) bool {
	for _, later := range n.events[i].changes {
		var clients []string
		for _, e := range slices.Backward(n.events[:i]) {
			at := slices.IndexFunc(e.changes, later.meets)
			if at < 0 {
				continue
			}
			c := e.changes[at]
			grants := e.op != nil && e.op.Op == history.Acquire
			if e.cmd != nil && (grants || !c.renewed()) && !slices.Contains(clients, e.cmd.Client) {
				clients = append(clients, e.cmd.Client)
			}
			if len(clients) > 1 {
				return true
			}
			if c.made() || c.after == nil {
				break
			}
		}
	}
	return false
}

// statement is a statement in plain words. Its parts are strings, and values that the caller formats: instants, which a story counts from its own first
// event, lengths of time, and recorded names.
type statement []any

// Parts of a sentence that are not text.
type (
	Instant int64  // of the run, in nanoseconds on its base
	Name    string // of a client, a command or a script
	Key     string // of the data
	Length  int64  // of time, in nanoseconds
)

// Text joins the parts of a sentence; say formats the other parts.
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

// because returns an answer.
func because(cause verdicts.Cause, experiment statement, events ...Event) Answer {
	return Answer{Cause: cause, Experiment: experiment, Events: events}
}

// conclusion is a cause, with what happened after the event that was left out and belongs to it.
type conclusion struct {
	name verdicts.Cause
	then statement
	more []Event

	moved []Event // as in an answer
}

func (c conclusion) answer(experiment statement, events ...Event) Answer {
	answer := because(c.name, sentence(experiment, c.then), append(events, c.more...)...)
	answer.Moved = c.moved
	return answer
}

// firstOf does experiments in turn until one names a cause.
func firstOf(experiments ...func() Answer) (a Answer) {
	for _, experiment := range experiments {
		if a = experiment(); a.Cause != "" {
			return a
		}
	}
	return a
}
