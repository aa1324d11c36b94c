package explain

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/verdicts"
)

// This file explains waits by the waiter's own requests: that it missed the reply to a grant, or did not ask.

// unseen explains a wait whose client was granted the lock but got no reply.
func (w *wait) unseen() Answer {
	for _, n := range w.nodes {
		for _, i := range n.byOp[w.op.ID] {
			if e := &n.events[i]; e.at <= w.until && e.cmd.Replied == 0 && len(keysOf(e.changes, true)) > 0 && w.votesWith(e) >= w.quorum() {
				return because(verdicts.AmbiguousReply, sentence("had ", Name(w.op.Client), " seen a reply to its ", called(e.cmd), " at ", Instant(e.at), ", it would have had the lock"), e.reported("", e.touched))
			}
		}
	}
	return Answer{}
}

// withoutReply explains a wait whose command is not in the order because its reply was lost: executed when it was sent, it would have taken the lock.
func (w *wait) withoutReply() Answer {
	if w.votes > 1 { // one reply is not enough
		return Answer{}
	}
	for _, c := range w.run.unseen[w.op.ID] {
		for _, n := range w.nodes {
			if n.index != c.Node || c.Sent > w.until || !w.arrived(c) {
				continue
			}
			_, changes, _ := w.asked(n, n.by(c.Sent-1), c, c.Sent)
			if at := slices.IndexFunc(changes, change.made); at >= 0 {
				return because(verdicts.AmbiguousReply, sentence("had ", Name(c.Client), " seen a reply to its ", called(c), ", sent at ", Instant(c.Sent), ", it would have had the lock"),
					Event{At: c.Sent, Command: c, Op: w.op, Hit: Made, Key: changes[at].key})
			}
		}
	}
	return Answer{}
}

// arrived reports whether a request may have reached its node by the end of the wait. No fault is known to have lost it or held it up, and the simulator,
// which numbers what its nodes execute, does not show that none did.
func (w *wait) arrived(c *history.Command) bool {
	if c.Replied != 0 || c.Turn != 0 {
		return true
	}
	n := w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.index == c.Node })]
	if n.numbered || slices.Contains(n.missed, c) {
		return false
	}
	blocked := w.confirmed(func(f *history.Window) bool {
		kind, _ := faults.FindKind(f.Fault)
		return kind.Does.Any(history.HoldsRequests) && kind.In != faults.InMessage && (f.Client == c.Client || f.Client == "" && f.Node == c.Node) && f.Start <= c.Sent && c.Sent <= f.Last() && f.Last() >= w.until
	})
	return len(blocked) == 0
}

// unasked explains a wait whose client sent no request for most of it, because it waited for a notification, not for replies.
func (w *wait) unasked() Answer {
	quiet := w.quiet()
	if quiet.To-quiet.From <= max(w.until-w.from, 0)/2 || !slices.ContainsFunc(w.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.events[:n.by(w.until-1)], func(e event) bool { return e.cmd != nil && e.cmd.Client == w.op.Client })
	}) {
		return Answer{}
	}
	return because(verdicts.LostWakeup, sentence(Name(w.op.Client), " sent no request from ", Instant(quiet.From), " until ", Instant(quiet.To),
		": had it tried again, it would have found the lock free"))
}

// quiet returns the longest stretch of the wait in which no request of the acquire was sent or on its way: none that names a key, and none that was
// never answered, such as the first of a new connection.
func (w *wait) quiet() (longest checker.Span) {
	from := w.from
	until := func(at int64) {
		if at = min(at, w.until); at-from > longest.To-longest.From {
			longest = checker.Span{From: from, To: at}
		}
	}
	for _, c := range w.requests() {
		if !c.Waits() && c.Sent <= w.until && (c.Replied == 0 || (&event{cmd: c}).key() != "") {
			until(c.Sent)
			from = max(from, c.Sent, c.Replied)
			if !w.arrived(c) { // its client may have waited for the reply
				from = w.until
			}
		}
	}
	until(w.until)
	return longest
}

// requests returns the commands that the acquire sent to nodes, by the time they were sent.
func (w *wait) requests() (out []*history.Command) {
	for i := range w.Commands {
		if c := &w.Commands[i]; c.Op == w.op.ID && c.Node >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// inVain says what became of the acquire's requests to nodes, those that open a connection included, if most of them got no reply or failed; nil: they
// did not.
func (w *wait) inVain() statement {
	all, lost, failed, opens := w.requests(), 0, 0, ""
	var last *history.Command // of those that failed
	for _, c := range all {
		if upstream.Handshake(c.Name) {
			opens = ", with those that open a connection,"
		}
		switch {
		case c.Replied == 0:
			lost++
		case c.Failed():
			last, failed = c, failed+1
		}
	}
	of := fmt.Sprintf(" of the %d requests of ", len(all))
	switch {
	case lost == 1 && len(all) == 1:
		return sentence("the one request of ", Name(w.op.Client), "'s acquire got no reply before it gave it up")
	case 2*lost > len(all):
		return sentence(strconv.Itoa(lost)+of, Name(w.op.Client), "'s acquire"+opens+" got no reply before it gave them up")
	case 2*failed > len(all):
		return sentence(strconv.Itoa(failed)+of, Name(w.op.Client), "'s acquire"+opens+" failed, the last with ", Name(last.Reply))
	}
	return nil
}
