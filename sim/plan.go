package sim

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// What the Director is told of a run.

// watches reports whether a fault is placed at a moment of a client.
func (w *world) watches(a *actor, m history.Moment) bool {
	return w.director.Plan().Watches(faults.Event{Kind: faults.Moment, Client: a.index + 1, Moment: m})
}

// moment does what is placed at a moment of a client.
func (w *world) moment(a *actor, m history.Moment) {
	w.director.Event(context.Background(), faults.Event{Kind: faults.Moment, Client: a.index + 1, Moment: m}, nil)
}

// onSend does what is placed before a request leaves its client, and then what is placed on its way; struck reports whether anything was.
// A client that was stopped or killed before the request left does not send it.
func (w *world) onSend(q *request) (struck bool) {
	a := q.link.actor
	if !w.director.Plan().WatchesMessages(a.index+1, faults.Leaving, faults.Underway) {
		return false
	}
	e := faults.Event{Kind: faults.Messages, Client: a.index + 1, Stage: faults.Leaving, Operation: q.op, Command: &a.commands[q.command], Write: resp.IsWrite(q.name)}
	for _, e.Stage = range []faults.Stage{faults.Leaving, faults.Underway} {
		if !w.director.Plan().Watches(e) {
			continue
		}
		struck = true
		w.director.Event(context.Background(), e, onRequest{request: q})
		q.withheld = q.withheld || a.paused
		if a.crashed {
			q.link.requests = slices.DeleteFunc(q.link.requests, func(o *request) bool { return o == q })
			return true
		}
	}
	return struck
}

// onReply does what is placed between a request's effect and its reply; lost reports whether the reply is.
func (w *world) onReply(r *reply) (lost bool) {
	if r.request == nil {
		return false
	}
	a := r.link.actor
	if !w.director.Plan().WatchesMessages(a.index+1, faults.Answered, faults.Returning) {
		return false
	}
	c := a.commands[r.request.command]
	c.Reply = replyText(r.bytes)
	for _, at := range []faults.Stage{faults.Answered, faults.Returning} {
		w.director.Event(context.Background(), faults.Event{Kind: faults.Messages, Client: a.index + 1, Stage: at, Operation: r.request.op, Command: &c,
			Write: resp.IsWrite(r.request.name)}, onReply{r})
	}
	return r.lost
}
