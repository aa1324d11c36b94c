package sim

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/resp"
)

type onMessage struct {
	*conn
	kept *bool
	lose func() // drops it, and its connection
}

var _ faults.Message = onMessage{}

// onRequest returns a request on its way. It is lost now, or else when it would arrive.
func onRequest(q *request, now bool) faults.Message {
	lose := func() { q.doomed = true }
	if now {
		lose = func() { q.conn.world.lose(q) }
	}
	return onMessage{q.conn, &q.kept, lose}
}

func onReply(r *reply) faults.Message {
	return onMessage{r.conn, &r.kept, func() {
		r.lost = true
		r.conn.world.noteReply(r, true)
		r.conn.world.cutConn(r.conn)
	}}
}

func (m onMessage) Client() int { return m.client.index + 1 }

func (m onMessage) Node() int { return m.target() }

func (m onMessage) Lose() { m.lose() }

func (m onMessage) Hold() faults.Undo {
	*m.kept = true
	return func(context.Context) error { *m.kept = false; return nil }
}

func (w *world) lose(q *request) {
	w.noteRequest(q, true)
	w.cutConn(q.conn)
}

// onSend applies the faults placed before a request leaves its client, and then those on its way,
// and reports whether there were any. A client that was stopped or killed by then does not send it.
func (w *world) onSend(q *request) (injected bool) {
	c := q.conn.client
	if !w.director.Plan().WatchesMessages(c.index+1, faults.Leaving, faults.Underway) {
		return false
	}
	e := faults.Event{Kind: faults.Messages, Client: c.index + 1, Stage: faults.Leaving, Operation: q.op, Command: &c.commands[q.command], Write: resp.IsWrite(q.name)}
	for _, e.Stage = range []faults.Stage{faults.Leaving, faults.Underway} {
		if !w.director.Plan().Watches(e) {
			continue
		}
		injected = true
		w.director.Event(context.Background(), e, onRequest(q, false))
		q.withheld = q.withheld || c.paused
		if c.crashed {
			q.conn.requests = slices.DeleteFunc(q.conn.requests, func(o *request) bool { return o == q })
			return true
		}
	}
	return injected
}

// answered makes the reply to a request an event, unless its connection is gone. It applies the
// faults placed between a request's effect and its reply, which may lose it.
func (w *world) answered(q *request, bytes []byte) {
	cn, c := q.conn, q.conn.client
	if cn.shut || cn.lost != nil || c.crashed {
		return
	}
	r := &reply{conn: cn, request: q, bytes: append([]byte(nil), bytes...)}
	if w.director.Plan().WatchesMessages(c.index+1, faults.Answered, faults.Returning) {
		command := c.commands[q.command]
		command.Reply = replyText(r.bytes)
		for _, at := range []faults.Stage{faults.Answered, faults.Returning} {
			w.director.Event(context.Background(), faults.Event{Kind: faults.Messages, Client: c.index + 1, Stage: at, Operation: q.op, Command: &command,
				Write: resp.IsWrite(q.name)}, onReply(r))
		}
	}
	if !r.lost {
		w.enqueueReply(r)
	}
}
