package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// possible is a fault that a strategy may place now.
type possible struct {
	format string // of the name: fault, to whom, how long
	args   []any
	strike func()
}

// name is made when it is asked for: of all the faults that could strike, one does.
func (p *possible) name() string { return fmt.Sprintf(p.format, p.args...) }

// strikes lists the faults that may be placed now, by name of fault, then client, then node.
func (w *world) strikes() []option {
	out := w.striking[:0]
	add := func(f func(moment string), format string, args ...any) {
		out = append(out, option{kind: strike, fault: &possible{format, args, func() { f(bySearch) }}})
	}
	long, short := w.program.Config.Lease*3/2, w.program.Config.Lease/10
	for _, fault := range w.bounds.Faults {
		w.clientStrikes(fault, long, add)
		w.linkStrikes(fault, long, add)
		w.nodeStrikes(fault, long, short, add)
	}
	w.striking = out
	return out
}

// untilOther says in an option's name that the fault ends when another client has entered its critical section.
const untilOther = "until " + otherEntered

// bySearch is the moment that the windows of a search's faults name.
const bySearch = "chosen by the search"

type adder func(f func(moment string), format string, args ...any)

func (w *world) clientStrikes(fault string, long time.Duration, add adder) {
	for _, a := range w.actors {
		if a.done || a.crashed || a.paused {
			continue
		}
		switch fault {
		case faults.PauseClient:
			add(func(m string) { w.pauseClient(a, extent{d: long}, m) }, "%s %s %v", fault, a.name, long)
			add(func(m string) { w.pauseClient(a, w.otherEnters(a, 0), m) }, "%s %s %s", fault, a.name, untilOther)
		case faults.CrashClient:
			add(func(m string) { w.crashClient(a, m) }, "%s %s", fault, a.name)
		case faults.CancelClient:
			if !a.asks() {
				continue
			}
			add(func(m string) { w.cancelClient(a, m) }, "%s %s", fault, a.name)
		case faults.BlackholeClient:
			add(func(m string) { w.sever(fault, a, nil, extent{d: long}, m) }, "%s %s %v", fault, a.name, long)
		}
	}
}

// linkStrikes lists what may be done to the messages that could be delivered at this step.
func (w *world) linkStrikes(fault string, long time.Duration, add adder) {
	for _, o := range w.possible {
		if o.link == nil {
			continue
		}
		l, request, reply := o.link, o.kind == deliverRequest, o.kind == deliverReply
		switch {
		case fault == faults.LoseRequest && request:
			add(func(m string) { ifAny(l.requests, m, w.loseRequest) }, "%s %s", fault, o.where())
		case fault == faults.DelayRequest && request:
			add(func(m string) { w.delayRequest(l, extent{d: long}, m) }, "%s %s %v", fault, o.where(), long)
			add(func(m string) { w.delayRequest(l, w.otherEnters(l.actor, 0), m) }, "%s %s %s", fault, o.where(), untilOther)
		case fault == faults.LoseReply && reply:
			add(func(m string) { ifAny(l.replies, m, w.loseReply) }, "%s %s", fault, o.where())
		case fault == faults.DelayReply && reply:
			add(func(m string) { w.delayReply(l, extent{d: long}, m) }, "%s %s %v", fault, o.where(), long)
			add(func(m string) { w.delayReply(l, w.otherEnters(l.actor, 0), m) }, "%s %s %s", fault, o.where(), untilOther)
		}
	}
}

// ifAny strikes the oldest message on a way. There may be none any more: between the choice of a strike and the strike, a client's timer may have
// ended the connection.
func ifAny[M any](way []M, moment string, do func(M, string)) {
	if len(way) > 0 {
		do(way[0], moment)
	}
}

func (w *world) nodeStrikes(fault string, long, short time.Duration, add adder) {
	for i, n := range w.lockNodes() {
		if n.down {
			continue
		}
		switch fault {
		case faults.KillServer:
			add(func(m string) { w.killServer(n, short, m) }, "%s n%d %v", fault, i+1, short)
		case faults.PauseServer:
			add(func(m string) { w.pauseServer(n, long, m) }, "%s n%d %v", fault, i+1, long)
		case faults.PartitionNodes:
			add(func(m string) { w.sever(fault, nil, n, extent{d: long}, m) }, "%s n%d %v", fault, i+1, long)
		case faults.JumpClock:
			add(func(m string) { w.jumpClock(n, 2*w.program.Config.Lease, 0, m) }, "%s n%d %v", fault, i+1, 2*w.program.Config.Lease)
		case faults.FlushScripts:
			add(func(m string) { w.flushScripts([]*node{n}, m) }, "%s n%d", fault, i+1)
		case faults.DeleteKey, faults.EvictKeys:
			add(func(m string) { w.loseKeys(fault, []*node{n}, m) }, "%s n%d", fault, i+1)
		}
	}
	switch {
	case fault == faults.Failover && w.program.Topology == impls.Replicated && !w.pair.stopped:
		add(w.failover, "%s", fault)
	case fault == faults.CutPubSub && slices.ContainsFunc(w.links, func(l *link) bool { return l.server.subs.has(l) }):
		add(w.cutPubSub, "%s", fault)
	}
}
