package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// trace is everything that happened, in order: always as a hash, and as lines on request. Two runs are the same if their hashes are equal.
type trace struct {
	hash  uint64
	keep  bool
	lines []string
}

// FNV-1a.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

func newTrace(keep bool) trace { return trace{hash: hashStart, keep: keep} }

// mix adds a number to a hash.
func mix(h, v uint64) uint64 {
	for range 8 {
		h = (h ^ (v & 0xff)) * hashPrime
		v >>= 8
	}
	return h
}

// mixText adds a text and its end to a hash.
func mixText[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime
}

// event adds an event that the scheduler released. It calls what only if lines are kept.
func (t *trace) event(now time.Duration, kind optionKind, number uint64, content []byte, what func() string) {
	t.hash = mix(mix(mix(t.hash, uint64(now)), uint64(kind)), number)
	t.hash = mixText(t.hash, content)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s", now.Seconds(), what()))
	}
}

// op adds an operation that a client recorded.
func (t *trace) op(op history.Operation) {
	t.hash = mix(mix(mix(t.hash, uint64(op.Call)), uint64(op.Return)), uint64(op.Op)<<8|uint64(op.Outcome))
	t.hash = mixText(mixText(t.hash, op.Token), op.Err)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s %s %s %s", time.Duration(op.Return).Seconds(), op.Client, op.Op, op.Key,
			strings.TrimSpace(op.Outcome.String()+" "+op.Err)))
	}
}

// storeNode is the node number of the guarded store, which is not one of the lock's nodes.
const storeNode = -1

// commandOf returns the record of a request.
func commandOf(q *request) history.Command {
	w, args := q.conn.world, q.args[1:]
	node := q.conn.node
	if node == w.storeIndex() {
		node = storeNode
	}
	c := history.Command{Client: q.conn.client.name, Node: node, Sent: q.sent, Name: q.name,
		Args: make([]string, 0, min(len(args), history.MaxArgs)), Cut: len(args) > history.MaxArgs}
	for i, a := range args {
		if i == history.MaxArgs {
			break
		}
		switch {
		case i == 0 && strings.HasPrefix(q.name, "EVAL"):
			c.Script, a = w.script(q.name, a)
		case i == 1 && q.name == "SCRIPT" && strings.EqualFold(args[0], "load"):
			a = w.source(a)
		}
		c.Cut = c.Cut || len(a) > history.MaxArg
		c.Args = append(c.Args, a[:min(len(a), history.MaxArg)])
	}
	return c
}

// replyText returns a reply as one line, for the record.
func replyText(b []byte) string {
	r, ok := resp.ParseReply(b)
	if !ok {
		return ""
	}
	return r.Line(history.MaxReply)
}

// storyLine is one line of a story before lines are joined.
type storyLine struct {
	at    int64
	text  string
	same  string // consecutive lines with the same text here are joined
	times int
}

// story returns an outcome as numbered lines, up to an instant: every command with its reply, every fault, every client that enters or leaves.
// Repeated refusals are one line.
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
		who = fmt.Sprintf("n%d", w.Node+1)
	}
	begin := storyLine{at: w.Start, text: strings.TrimSpace(who + " " + w.Fault)}
	if w.End <= w.Start {
		return []storyLine{begin}
	}
	return []storyLine{begin, {at: w.End, text: strings.TrimSpace(who+" "+w.Fault) + " is over"}}
}

// joined merges equal neighbours into one line.
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

// hashArgs returns a hash of a request.
func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}
