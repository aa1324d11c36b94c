package sim

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// placeable returns the option to place a fault of a target, or of the message that an option
// delivers.
func placeable(s faults.Spec, target string, of option) option {
	p := &placeableFault{spec: s, target: target}
	if of != (option{}) {
		p.event = of.event()
	}
	return option{kind: placeFault, fault: p}
}

// faults lists the faults that may be placed now, by name of fault, then client, then node; none if
// the strategy has placed as many as it may.
func (w *world) faults() []option {
	if w.budget == 0 || w.over() {
		return nil
	}
	out := w.placeable[:0]
	add := func(s faults.Spec, target string, of option) { out = append(out, placeable(s, target, of)) }
	long, short := w.program.Config.Lease*3/2, w.program.Config.Lease/10
	for _, fault := range w.bounds.Faults {
		for _, c := range w.clients {
			if !c.done && !c.crashed && !c.paused {
				faultsOfClient(fault, c.index+1, c.asks(), long, add)
			}
		}
		for _, o := range w.possible {
			if o.conn != nil {
				faultsOfMessage(fault, o, long, add)
			}
		}
		kind, _ := faults.FindKind(fault)
		for i, n := range w.lockNodes() {
			s, name := faults.Spec{Fault: fault, Node: i + 1}, nodeName(i)
			switch {
			case n.down, !kind.OnNode(), kind.Promotes():
			case kind.Does.Any(history.Kills):
				add(lasting(s, short), name, option{})
			case kind.Does.Any(history.HoldsRequests):
				add(lasting(s, long), name, option{})
			case kind.Needs("by"):
				s.By = faults.Span{Fixed: 2 * w.program.Config.Lease}
				add(s, name, option{})
			default:
				s.Node = w.role(i) + 1
				add(s, name, option{})
			}
		}
		if kind.Promotes() && len(w.addrs) == 1 && len(w.links) > 0 && w.links[0].replica.index == 1 ||
			kind.Does.Any(history.CutsSubscriptions) && slices.ContainsFunc(w.conns, func(cn *conn) bool { return cn.server.Subscribed(cn) }) {
			add(faults.Spec{Fault: fault}, "", option{})
		}
	}
	w.placeable = out
	return out
}

// place applies a fault that the search has chosen, unless its message is gone by then: a client's
// timer may end the connection between the choice of a fault and its effect.
func (w *world) place(p *placeableFault) {
	var m faults.Message
	switch e := p.event; {
	case e.conn == nil:
	case e.kind == deliverRequest && len(e.conn.requests) > 0:
		m = onRequest(e.conn.requests[0], true)
	case e.kind == deliverReply && len(e.conn.replies) > 0:
		m = onReply(e.conn.replies[0])
	default:
		return
	}
	w.director.Place(context.Background(), p.spec, faults.BySearch, m)
}

// faultsOfClient lists the faults of a live client, by its number from 1; asks says that it has an
// acquire under way. add adds the option that placeable returns.
func faultsOfClient(fault string, client int, asks bool, long time.Duration, add func(s faults.Spec, target string, of option)) {
	s, name := faults.Spec{Fault: fault, Client: client}, faults.ClientName(client)
	kind, _ := faults.FindKind(fault)
	switch {
	case kind.On != faults.OneClient, kind.In == faults.InMessage, kind.Placed == faults.BeforeSearch:
	case kind.Needs("for"):
		add(lasting(s, long), name, option{})
		if kind.In == faults.InClient {
			add(untilOthers(s), name, option{})
		}
	case asks || !kind.Does.Any(history.CancelsCall):
		add(s, name, option{})
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

// faultsOfMessage lists the faults of one message.
func faultsOfMessage(fault string, o option, long time.Duration, add func(s faults.Spec, target string, of option)) {
	kind, _ := faults.FindKind(fault)
	if kind.In != faults.InMessage || (o.kind == deliverRequest) != (kind.At == faults.AtRequest) {
		return
	}
	s := faults.Spec{Fault: fault, Client: o.owner() + 1}
	if !kind.Needs("for") {
		add(s, "", o)
		return
	}
	add(lasting(s, long), "", o)
	add(untilOthers(s), "", o)
}
