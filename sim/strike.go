package sim

import (
	"context"
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
	add := func(s faults.Spec, message func() faults.Message, format string, args ...any) {
		out = append(out, option{kind: strike, fault: &possible{format, args, func() { w.place(s, message) }}})
	}
	long, short := w.program.Config.Lease*3/2, w.program.Config.Lease/10
	for _, fault := range w.bounds.Faults {
		w.clientStrikes(fault, long, add)
		w.messageStrikes(fault, long, add)
		w.nodeStrikes(fault, long, short, add)
	}
	w.striking = out
	return out
}

// place does a fault that the search has chosen.
func (w *world) place(s faults.Spec, message func() faults.Message) {
	var m faults.Message
	if message != nil {
		if m = message(); m == nil {
			return
		}
	}
	w.director.Strike(context.Background(), s, bySearch, m)
}

// untilOther says in an option's name that the fault ends when another client has entered its critical section.
const untilOther = "until " + faults.OtherEntered

// bySearch is the moment that the windows of a search's faults name.
const bySearch = "chosen by the search"

// placer offers a fault: format and args name it. With message, there is nothing to do when the message is gone by then: between the
// choice of a fault and the fault, a client's timer may have ended the connection.
type placer func(s faults.Spec, message func() faults.Message, format string, args ...any)

func (w *world) clientStrikes(fault string, long time.Duration, add placer) {
	for _, a := range w.actors {
		if a.done || a.crashed || a.paused {
			continue
		}
		s := faults.Spec{Fault: fault, Client: a.index + 1}
		switch fault {
		case faults.PauseClient:
			add(lasting(s, long), nil, "%s %s %v", fault, a.name, long)
			add(untilOthers(s), nil, "%s %s %s", fault, a.name, untilOther)
		case faults.CrashClient:
			add(s, nil, "%s %s", fault, a.name)
		case faults.CancelClient:
			if a.asks() {
				add(s, nil, "%s %s", fault, a.name)
			}
		case faults.BlackholeClient:
			add(lasting(s, long), nil, "%s %s %v", fault, a.name, long)
		}
	}
}

func lasting(s faults.Spec, d time.Duration) faults.Spec {
	s.For = faults.Span{Fixed: d}
	return s
}

func untilOthers(s faults.Spec) faults.Spec {
	s.Until = faults.OtherEntered
	return s
}

// messageStrikes lists what may be done to the messages that could be delivered at this step.
func (w *world) messageStrikes(fault string, long time.Duration, add placer) {
	kind, _ := faults.FindKind(fault)
	if kind.In != faults.InMessage {
		return
	}
	for _, o := range w.possible {
		if o.link == nil || (o.kind == deliverRequest) != (kind.At == faults.AtRequest) {
			continue
		}
		s, l := faults.Spec{Fault: fault, Client: o.link.actor.index + 1}, o.link
		message := func() faults.Message { return oldestReply(l) }
		if o.kind == deliverRequest {
			message = func() faults.Message { return oldestRequest(l) }
		}
		if fault == faults.LoseRequest || fault == faults.LoseReply {
			add(s, message, "%s %s", fault, o.where())
			continue
		}
		add(lasting(s, long), message, "%s %s %v", fault, o.where(), long)
		add(untilOthers(s), message, "%s %s %s", fault, o.where(), untilOther)
	}
}

func oldestRequest(l *link) faults.Message {
	if len(l.requests) == 0 {
		return nil
	}
	return onRequest{l.requests[0], true}
}

func oldestReply(l *link) faults.Message {
	if len(l.replies) == 0 {
		return nil
	}
	return onReply{l.replies[0]}
}

func (w *world) nodeStrikes(fault string, long, short time.Duration, add placer) {
	jump := 2 * w.program.Config.Lease
	for i, n := range w.lockNodes() {
		if n.down {
			continue
		}
		s := faults.Spec{Fault: fault, Node: i + 1}
		switch fault {
		case faults.KillServer:
			add(lasting(s, short), nil, "%s n%d %v", fault, i+1, short)
		case faults.PauseServer, faults.PartitionNodes:
			add(lasting(s, long), nil, "%s n%d %v", fault, i+1, long)
		case faults.JumpClock:
			s.By = faults.Span{Fixed: jump}
			add(s, nil, "%s n%d %v", fault, i+1, jump)
		case faults.FlushScripts, faults.DeleteKey, faults.EvictKeys:
			s.Node = w.role(i) + 1
			add(s, nil, "%s n%d", fault, i+1)
		}
	}
	switch {
	case fault == faults.Failover && w.program.Topology == impls.Replicated && !w.pair.stopped:
		add(faults.Spec{Fault: fault}, nil, "%s", fault)
	case fault == faults.CutPubSub && slices.ContainsFunc(w.links, func(l *link) bool { return l.server.subs.has(l) }):
		add(faults.Spec{Fault: fault}, nil, "%s", fault)
	}
}
