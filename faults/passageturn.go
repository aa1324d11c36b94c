package faults

import "github.com/lockbench/lockbench/internal/resp"

// requestTurn waits for the turn of a request, where a conductor gives turns: which step it is, and whether it passes. One that is to be
// lost takes its connection with it.
func (l *lane) requestTurn(req resp.Request) (turn int, pass bool) {
	c := l.link.proxy.cfg.Conductor
	if c == nil {
		return 0, true
	}
	if !l.flush() { // what came before it is not to wait with it
		return 0, false
	}
	f := c.request(l.link, req, l.gone)
	if f.lost {
		l.end()
	}
	return f.id, !f.lost
}

// replyTurn waits for the turn of the reply to a request that had one, and passes it on; false when the passage is to end.
func (l *lane) replyTurn(a asked, reply resp.Reply) bool {
	if !l.flush() {
		return false
	}
	if l.link.proxy.cfg.Conductor.reply(a.turn, a.cmd, l.gone).lost {
		l.record(a.cmd)
		l.end()
		return false
	}
	a.cmd.Reply, a.cmd.Replied = ReplyLine(reply), l.link.proxy.cfg.Timeline()
	l.record(a.cmd)
	l.out = append(l.out, reply.Raw...)
	return l.flush()
}
