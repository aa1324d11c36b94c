package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// trace is everything that happened, in order: as a hash always, as lines when somebody will read them. Two runs are the
// same when their hashes are.
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

// event adds something that the scheduler let happen. what is called only when lines are kept.
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

// storeNode is the node of commands to the guarded store, which is none of the lock's.
const storeNode = -1

// commandOf makes the record of a request that was sent.
func commandOf(q *request) history.Command {
	w, args := q.link.world, q.args[1:]
	node := q.link.node
	if node == w.storeIndex() {
		node = storeNode
	}
	c := history.Command{Client: q.link.actor.name, Node: node, Sent: q.sent, Name: q.name,
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

// replyText is a reply on one line, for the record.
func replyText(b []byte) string {
	r, ok := resp.ParseReply(b)
	if !ok {
		return ""
	}
	return r.Line(history.MaxReply)
}
