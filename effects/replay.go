package effects

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// MostReplayed is the number of commands that are worth to be executed again: they take some seconds.
const MostReplayed = 100_000

// Replay returns what the nodes executed if each executed its commands in the order of the middles of their times, from sent to replied. Where a reply
// differs, or there is none, it is not known what happened to the keys of the command from then on: an event with Open is the last of them. It ends early,
// with the error of ctx, when ctx ends.
func Replay(ctx context.Context, rec Record) ([]history.Executed, error) {
	server, err := fakeredis.New()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	last := 0
	for i := range rec.Commands {
		last = max(last, rec.Commands[i].Node)
	}
	out := []history.Executed{}
	for node := range last + 1 {
		r := &replay{data: newData(server, rec.Header.Epoch), node: node, open: map[string]bool{}, soonest: math.MaxInt64}
		all := candidates(rec.Commands, node, rec.Scripts)
		slices.SortStableFunc(all, func(a, b *candidate) int { return compare(middle(a), middle(b)) })
		for i, c := range all {
			if i%1000 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.execute(c)
		}
		out = append(out, r.out...)
	}
	slices.SortStableFunc(out, func(a, b history.Executed) int { return compare(a.At, b.At) })
	return out, nil
}

// middle returns the middle of a command's time; without a reply, when it was sent.
func middle(c *candidate) int64 {
	if c.command.Replied == 0 {
		return c.command.Sent
	}
	return c.command.Sent + (c.command.Replied-c.command.Sent)/2
}

// replay is the work on one node, whose data are those on the embedded server.
type replay struct {
	*data
	node    int
	open    map[string]bool // keys of which it is not known what happened
	soonest int64           // no lease ends before, by wall-clock time
	out     []history.Executed
}

func (r *replay) execute(c *candidate) {
	at := middle(c)
	e := history.Executed{Node: r.node, At: at, Client: c.command.Client, Conn: c.command.Conn, Op: c.command.Op, Name: c.command.Name,
		Script: c.command.Script, Args: c.command.Args, Reply: c.command.Reply}
	if slices.ContainsFunc(c.keys, func(key string) bool { return r.open[key] }) {
		r.leave(c.keys)
		return
	}
	r.lapse(at)
	if c.request == nil || c.command.Replied == 0 {
		r.leave(c.keys)
		e.Open = true
		r.out = append(r.out, e)
		return
	}
	now := time.Unix(0, r.epoch+at)
	reply, touched := "", slices.Clone(c.keys)
	for _, words := range c.request {
		raw, _ := resp.ParseReply(r.server.Do(now, words))
		reply = raw.Line(history.MaxReply)
		touched = append(touched, r.server.Touched()...)
	}
	for i, key := range touched {
		if slices.Contains(touched[:i], key) || r.open[key] {
			continue
		}
		v := r.server.Entry(key)
		if change, changed := r.put(key, v); changed {
			e.Changes = append(e.Changes, change)
		}
		if v != nil && v.Expires != 0 {
			r.soonest = min(r.soonest, v.Expires)
		}
	}
	slack := int64(0) // a remaining time depends on the instant, a number that was counted does not
	if len(e.Changes) == 0 {
		slack = c.command.Replied - c.command.Sent + int64(grain)
	}
	if c.command.Name != "EXEC" && !agree(reply, c.command.Reply, slack) {
		r.leave(touched)
		e.Changes, e.Open = nil, true
	}
	if len(e.Changes) > 0 || e.Open {
		r.out = append(r.out, e)
	}
}

// leave gives keys up.
func (r *replay) leave(keys []string) {
	for _, key := range keys {
		r.open[key] = true
		delete(r.keys, key)
	}
}

// lapse adds the leases that have ended by a time.
func (r *replay) lapse(at int64) {
	if r.soonest > r.epoch+at {
		return
	}
	r.soonest = math.MaxInt64
	var ended []history.DataChange
	for key, e := range r.keys {
		switch {
		case e.value.Expires == 0:
		case e.value.Expires <= r.epoch+at:
			change, _ := r.put(key, nil)
			ended = append(ended, change)
		default:
			r.soonest = min(r.soonest, e.value.Expires)
		}
	}
	slices.SortFunc(ended, func(a, b history.DataChange) int { return compare(a.Before.Until, b.Before.Until) })
	for _, change := range ended {
		r.out = append(r.out, history.Executed{Node: r.node, At: change.Before.Until, Effect: history.Expired, Changes: []history.DataChange{change}})
	}
}
