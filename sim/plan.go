package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/workloads"
)

// plan is the faults that a scenario places. They strike at the moment their trigger names, as in the real world.
type plan struct {
	world   *world
	pending []*placed
}

// placed is one fault of a plan with what the seed has settled, and how often its trigger has matched.
type placed struct {
	faults.Spec
	actor  *actor // to whom, or whose trigger counts; nil for faults that are nobody's
	node   *node
	struck int
	seen   int
}

// newPlan settles what the specs leave to the seed, and arranges those that strike at a time.
func (w *world) newPlan(specs []faults.Spec) plan {
	p := plan{world: w}
	for _, s := range specs {
		one := &placed{Spec: s, actor: w.drawActor(s.Client), node: w.drawNode(s.Node)}
		switch {
		case s.Fault == faults.SkewClient, s.Fault == faults.CollideOwners, s.Fault == faults.SlowWork:
			w.fromTheStart(one)
		case s.When.After != (faults.Span{}):
			w.after(s.When.After.Of(w.program.Config.Lease), func() { w.strike(one) })
		case s.When == (faults.Trigger{}):
			w.after(0, func() { w.strike(one) })
		default:
			p.pending = append(p.pending, one)
		}
	}
	return p
}

func (w *world) drawActor(number int) *actor {
	if number > 0 && number <= len(w.actors) {
		return w.actors[number-1]
	}
	return w.actors[w.rand.IntN(len(w.actors))]
}

func (w *world) drawNode(number int) *node {
	nodes := w.lockNodes()
	if number > 0 && number <= len(nodes) {
		return nodes[number-1]
	}
	if w.program.Topology != "independent" {
		return nodes[0]
	}
	return nodes[w.rand.IntN(len(nodes))]
}

// fromTheStart sets up the faults that are a state of affairs and not an event.
func (w *world) fromTheStart(f *placed) {
	client := ""
	switch f.Fault {
	case faults.SkewClient:
		f.actor.skew += f.By.Of(w.program.Config.Lease)
		client = f.actor.name
	case faults.CollideOwners:
		w.collide = true
	case faults.SlowWork:
		w.program.Config.Slow = f.For.Of(w.program.Config.Lease)
		client = workloads.ClientName(0)
	}
	w.open(f.Fault, client, -1, "from the start")
}

// owner is the owner id of a client: its name, or one that all share when owner ids collide.
func (w *world) owner(int) string {
	if w.collide {
		return "thread-1"
	}
	return ""
}

// moment strikes the faults that are placed at a step of a client.
func (w *world) moment(a *actor, m history.Moment) {
	for _, f := range w.plan.pending {
		if f.When.Moment == string(m) && f.matches(a) {
			w.strike(f)
		}
	}
}

// watches tells whether a fault is placed at a step of a client.
func (p *plan) watches(m history.Moment) bool {
	return slices.ContainsFunc(p.pending, func(f *placed) bool { return f.When.Moment == string(m) })
}

// matches counts a match of the trigger by a client, and tells whether the fault strikes now.
func (f *placed) matches(a *actor) bool {
	if f.actor != a && !f.When.Anyone {
		return false
	}
	f.seen++
	if f.seen < max(f.When.Nth, 1) || f.struck >= max(f.Times, 1) {
		return false
	}
	f.struck++
	if f.When.Anyone && f.OfOneClient() {
		f.actor = a
	}
	return true
}

// names tells whether a trigger such as "acquire SET", "any" or "acquire *w" names a request.
func names(trigger string, q *request) bool {
	op, command, _ := strings.Cut(trigger, " ")
	switch {
	case trigger == "":
		return false
	case op != "any" && op != q.op:
		return false
	case command == "*w":
		return resp.IsWrite(q.name)
	}
	return command == "" || strings.EqualFold(command, q.name)
}

// onSend strikes the faults that are placed before a request leaves its client.
func (p *plan) onSend(q *request) (struck bool) {
	for _, f := range p.pending {
		if !names(f.When.Request, q) || !f.matches(q.link.actor) {
			continue
		}
		struck = true
		switch f.Fault {
		case faults.LoseRequest:
			q.doomed = true
		case faults.DelayRequest:
			p.world.holdRequest(q, p.world.extent(f), f.moment())
		default:
			q.withheld = true
			p.world.strike(f)
		}
	}
	return struck
}

// onReply strikes the faults that are placed between a request's effect and its reply; true when the reply is lost.
func (p *plan) onReply(r *reply) (lost bool) {
	if r.request == nil {
		return false
	}
	for _, f := range p.pending {
		if !p.fits(f, r) || !f.matches(r.link.actor) {
			continue
		}
		switch f.Fault {
		case faults.LoseReply:
			p.world.loseReply(r, f.moment())
			lost = true
		case faults.DelayReply:
			p.world.holdReply(r, p.world.extent(f), f.moment())
		default:
			p.world.strike(f)
		}
	}
	return lost
}

// fits tells whether a reply is one that the trigger of a fault names. A trigger that asks for a command that writes passes over one that
// changed nothing, such as a refused SET NX.
func (p *plan) fits(f *placed, r *reply) bool {
	if f.When.Reply == "" {
		return false
	}
	c := r.link.actor.commands[r.request.command]
	c.Reply = replyText(r.bytes)
	return faults.ParsePattern(f.When.Reply).MatchesReply(faults.Phase(r.request.op), &c, resp.IsWrite(r.request.name), p.world.program.Variant.Traits.NilGrants)
}

func (f *placed) moment() string {
	switch {
	case f.When.Moment != "":
		return f.actor.name + " " + f.When.Moment
	case f.When.Request != "":
		return fmt.Sprintf("request %s of %s", f.When.Request, f.actor.name)
	case f.When.Reply != "":
		return fmt.Sprintf("reply %s of %s", f.When.Reply, f.actor.name)
	}
	return "at a time"
}

// strike does a fault of a plan.
func (w *world) strike(f *placed) {
	d, by, m := f.For.Of(w.program.Config.Lease), f.By.Of(w.program.Config.Lease), f.moment()
	w.trace.event(w.now(), strike, 0, []byte(f.Fault), func() string { return "!! " + f.Fault + ", " + m })
	switch f.Fault {
	case faults.PauseClient:
		w.pauseClient(f.actor, w.extent(f), m)
	case faults.CrashClient:
		w.crashClient(f.actor, m)
	case faults.CancelClient:
		w.cancelClient(f.actor, m)
	case faults.BlackholeClient:
		w.sever(f.Fault, f.actor, nil, w.extent(f), m)
	case faults.PartitionNodes:
		w.sever(f.Fault, nil, f.node, w.extent(f), m)
	case faults.KillServer:
		w.killServer(f.node, d, m)
	case faults.PauseServer:
		w.pauseServer(f.node, d, m)
	case faults.Failover:
		w.failoverAfter(w.extent(f), m)
	case faults.JumpClock:
		w.jumpClock(f.node, by, d, m)
	case faults.DriftClock:
		w.driftClock(f.node, f.Rate, d, m)
	case faults.FlushScripts:
		w.flushScripts(w.targets(f), m)
	case faults.DeleteKey, faults.EvictKeys:
		w.loseKeys(f.Fault, w.targets(f), m)
	case faults.CutPubSub:
		w.cutPubSub(m)
	case faults.SlowNetwork:
		w.slowNetwork(by, d, m)
	default:
		w.windows = append(w.windows, history.Window{Fault: f.Fault, Node: -1, Start: w.timeline(), Moment: m, Note: "not possible at this trigger"})
	}
}

// targets are the nodes to which a fault of a plan is done: the one that it names, else one that is drawn, or all if that is its kind.
func (w *world) targets(f *placed) []*node {
	if kind, _ := faults.FindKind(f.Fault); kind.On == faults.AllNodes && f.Node == 0 {
		return w.lockNodes()
	}
	return []*node{f.node}
}

// otherEntered is the one event that a fault's Until may name.
const otherEntered = "other-entered"

// extent is how long a fault of a plan lasts.
func (w *world) extent(f *placed) extent {
	d := f.For.Of(w.program.Config.Lease)
	if f.Until != otherEntered {
		return extent{d: d}
	}
	return w.otherEnters(f.actor, d)
}
