package explain

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Answer is what an experiment showed.
type Answer struct {
	Causes     []verdicts.Cause // none where there was no experiment, and where it did not tell
	Experiment Sentence         // what was left out and what would have come of it; where there was none, what is known without
	Events     []Event          // what was left out, or what a grant rested on
}

// Event is something that happened on a node, or did not, on which an answer rests.
type Event struct {
	At      int64
	Command *history.Command   // nil: it was not a command
	Op      *history.Operation // that the command was sent in; nil: the background
	Effect  *history.Effect    // what a fault did; nil: it was not a fault
	Lost    []string           // keys that the effect took away in the replay
	Holder  string             // whose hold it took away or changed; "": nobody's, or its own
	Hit     Hit                // what it did to the key
	Granted bool               // the command granted the operation
	Unasked bool               // the operation was granted though no command was sent
	Votes   [2]int             // on how many nodes of how many a grant rested; 0 of 0 where that is not to the point
}

// Hit is what a command did to a key.
type Hit string

// What a command may do to a key.
const (
	Freed   Hit = "freed"   // it took the key away, or a part of it
	Renewed Hit = "renewed" // it moved the key's end
	Made    Hit = "made"    // there was none before
	Changed Hit = "changed"
)

// hit returns what an event did to the first of some keys that it changed; "" where it changed none of them.
func (e *event) hit(keys []string) Hit {
	for _, c := range e.changes {
		switch {
		case !slices.Contains(keys, c.key):
		case c.freed():
			return Freed
		case c.renewed():
			return Renewed
		case c.before == nil:
			return Made
		default:
			return Changed
		}
	}
	return ""
}

// reported returns an event as an answer reports it: holder is whose hold it hit, keys are those that this was about.
func (e *event) reported(holder string, keys []string) Event {
	out := Event{At: e.at, Command: e.cmd, Op: e.op, Effect: e.effect, Hit: e.hit(keys)}
	if e.cmd == nil || e.cmd.Client != holder {
		out.Holder = holder
	}
	for _, c := range e.changes {
		if e.effect != nil && c.after == nil {
			out.Lost = append(out.Lost, c.key)
		}
	}
	return out
}

// Sentence is a statement in plain words. Its parts are strings, and what the story that it ends writes in its own way: instants, which are counted
// from where the story begins, and recorded words.
type Sentence []any

// Parts of a sentence that are not text.
type (
	Instant int64  // of the run, in nanoseconds on its base
	Name    string // of a client, a command or a script
	Key     string // of the data
)

// Text puts a sentence together; say writes an Instant, a Name or a Key.
func (s Sentence) Text(say func(part any) string) string {
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
func sentence(parts ...any) (out Sentence) {
	for _, part := range parts {
		if s, ok := part.(Sentence); ok {
			out = append(out, s...)
			continue
		}
		out = append(out, part)
	}
	return out
}

// because is an answer of one cause.
func because(cause verdicts.Cause, experiment Sentence, events ...Event) Answer {
	return Answer{Causes: []verdicts.Cause{cause}, Experiment: experiment, Events: events}
}
