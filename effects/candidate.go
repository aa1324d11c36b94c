package effects

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// candidate is a recorded command, or transaction, that may have made steps of the log.
type candidate struct {
	command *history.Command
	request [][]string // what the node executed, each command with its name; nil: the record does not say
	keys    []string
	taken   bool
	seen    int // the last call of join.open that returned it
}

// replied returns when the reply came; never for one that did not.
func (c *candidate) replied() int64 {
	if c.command.Replied == 0 {
		return math.MaxInt64
	}
	return c.command.Replied
}

// candidates returns the commands to a node that may have written, in the order in which they were
// sent.
func candidates(rec *Record, node int) (all []*candidate) {
	commands, scripts := rec.Commands, rec.Scripts
	type connection struct {
		client string
		conn   uint64
	}
	queued := map[connection][]*history.Command{} // since MULTI
	for i := range commands {
		c := &commands[i]
		if c.Node != node {
			continue
		}
		if until := rec.heldUntil(c); until > c.Sent {
			later := *c
			later.Sent, c = until, &later
		}
		on := connection{c.Client, c.Conn}
		list, within := queued[on]
		switch {
		case c.Name == "MULTI":
			queued[on] = []*history.Command{}
		case c.Name == "DISCARD":
			delete(queued, on)
		case c.Name == "EXEC":
			delete(queued, on)
			all = append(all, newCandidate(c, list, scripts))
		case within:
			queued[on] = append(list, c)
		case resp.IsWrite(c.Name) || c.IsScript():
			if one := newCandidate(c, []*history.Command{c}, scripts); !one.didNothing() {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return int(a.command.Sent - b.command.Sent) })
	return all
}

// heldUntil returns when a node that stood still, or heard nothing, could execute a command: not
// before that was over.
func (rec *Record) heldUntil(c *history.Command) (until int64) {
	for i := range rec.Faults {
		if w := &rec.Faults[i]; w.Confirmed && w.Client == "" && w.Node == c.Node && w.Held(c, 0) {
			until = max(until, w.Ending)
		}
	}
	return until
}

func newCandidate(c *history.Command, parts []*history.Command, scripts map[string]string) *candidate {
	out := &candidate{command: c}
	known := true
	for _, part := range parts {
		out.keys = append(out.keys, part.Keys()...)
		words := append([]string{part.Name}, part.Args...)
		if part.IsScript() {
			source := scripts[part.Script]
			known = known && source != "" && len(part.Args) > 0 && strings.HasPrefix(part.Name, "EVAL")
			if known {
				words = append([]string{"EVAL", source}, part.Args[1:]...)
			}
		}
		known = known && !part.Cut
		out.request = append(out.request, words)
	}
	if !known {
		out.request = nil
	}
	return out
}

// didNothing reports whether a plain command changed nothing, by its reply. (The log may have its
// words all the same: as another client's, or as the end of the lease that it found over.)
func (c *candidate) didNothing() bool {
	switch c.command.Name {
	case "SET":
		return c.command.Reply == "(nil)" && !slices.ContainsFunc(c.command.Args, func(arg string) bool { return strings.EqualFold(arg, "GET") })
	case "SETNX", "DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "HSETNX", "HDEL", "SADD", "SREM", "ZREM", "LREM", "MSETNX":
		return c.command.Reply == "0"
	}
	return c.command.Failed() && !c.command.IsScript()
}

// surelyDid reports whether a plain command changed something, by its reply.
func (c *candidate) surelyDid() bool {
	return c.command.Replied != 0 && c.command.Accepted() && len(c.request) == 1 && !c.command.IsScript() && c.command.Name != "EXEC"
}

// says reports whether a step of the log is the candidate's in its own words: the same command, or
// a SET of the same value.
func (c *candidate) says(step [][]string) bool {
	if len(step) != 1 || len(c.request) != 1 || c.command.IsScript() {
		return false
	}
	did, asked := step[0], c.request[0]
	if slices.Equal(did, asked) {
		return true
	}
	return did[0] == "SET" && asked[0] == "SET" && len(did) >= 3 && len(asked) >= 3 && did[1] == asked[1] && did[2] == asked[2]
}

// executor executes candidates on the embedded server.
type executor struct {
	server *fakeredis.Server
	runs   int
}

// does reports whether the candidate, executed with the data at an instant, leaves the data as the
// step of the log did and replies what was recorded. after has what the step changed, with nil for
// a key that it removed. slack is for how long the instant is uncertain.
func (x *executor) does(c *candidate, d *data, after fakeredis.Data, at, slack int64) bool {
	if c.request == nil {
		return false
	}
	x.runs++
	now := time.Unix(0, d.epoch+d.clock.At(at))
	before := d.values(append(c.keys, keysOf(after)...))
	x.server.SetData(now, before)
	touched := map[string]bool{}
	var replies []string
	for _, words := range c.request {
		raw, _ := resp.ParseReply(x.server.Do(now, words))
		replies = append(replies, raw.Line(history.MaxReply))
		for _, key := range x.server.Touched() {
			touched[key] = true
		}
	}
	for key := range after {
		touched[key] = true
	}
	did := false // a command that finds a lease over changes nothing by itself
	for key := range touched {
		want, stepped := after[key]
		if !stepped {
			want = before[key]
		}
		want = living(want, now) // where it has ended, and the log does not say so yet
		value, was := x.server.Entry(key), before[key]
		if !alike(value, want, slack+int64(grain)) {
			return false
		}
		did = did || stepped && !same(value, living(was, now))
	}
	if !did {
		return false
	}
	if c.command.Replied == 0 || c.command.Name == "EXEC" {
		return true
	}
	return agree(replies[0], c.command.Reply, slack+int64(grain))
}

// idles reports whether the candidate, executed with the data at an instant, replies what was
// recorded and changes nothing; true for one that cannot be executed.
func (x *executor) idles(c *candidate, d *data, at int64) bool {
	if c.request == nil {
		return true
	}
	x.runs++
	now := time.Unix(0, d.epoch+d.clock.At(at))
	before := d.values(c.keys)
	x.server.SetData(now, before)
	var reply string
	for i, words := range c.request {
		raw, _ := resp.ParseReply(x.server.Do(now, words))
		if i == 0 {
			reply = raw.Line(history.MaxReply)
		}
		for _, key := range x.server.Touched() {
			if !same(x.server.Entry(key), living(before[key], now)) {
				return false
			}
		}
	}
	return agree(reply, c.command.Reply, int64(grain))
}

// living returns a value, nil if its lease is over.
func living(v *fakeredis.Entry, now time.Time) *fakeredis.Entry {
	if v != nil && v.Expires != 0 && v.Expires <= now.UnixNano() {
		return nil
	}
	return v
}

// grain is what the server's clock and the rounding of a lease to its milliseconds add.
const grain = 5 * time.Millisecond

func keysOf(after fakeredis.Data) (keys []string) {
	for key := range after {
		keys = append(keys, key)
	}
	return keys
}

// agree reports whether two replies are the same but for remaining times in milliseconds that
// differ by at most so many nanoseconds.
func agree(a, b string, most int64) bool {
	for a != b {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		for i > 0 && digit(a[i-1]) { // back to the beginning of the number
			i--
		}
		a, b = a[i:], b[i:]
		x, restA := number(a)
		y, restB := number(b)
		if x == y || min(x, y) < 2 || max(x, y)-min(x, y) > most/int64(time.Millisecond)+1 {
			return false
		}
		a, b = restA, restB
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// number returns the number at the beginning of a text, -1 for none, and the rest.
func number(text string) (n int64, rest string) {
	n = -1
	for i := 0; i < len(text); i++ {
		if !digit(text[i]) || i > 15 {
			return n, text[i:]
		}
		n = max(n, 0)*10 + int64(text[i]-'0')
	}
	return n, ""
}
