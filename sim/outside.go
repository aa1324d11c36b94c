package sim

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// World is a world outside the simulator, such as processes on real servers, in which a search orders the messages.
type World interface {
	// Run runs a program once, one message at a time, in the order that lead chooses. Its outcome has no tape: lead keeps it.
	Run(ctx context.Context, p Program, lead *Lead) (Outcome, error)
}

// worldRunner adapts a World to a search.
type worldRunner struct {
	ctx   context.Context // of the search
	world World
	known Catalogue
}

var _ runner = worldRunner{}

func (o worldRunner) catalogue() Catalogue { return o.known }

func (o worldRunner) run(p Program, s chooser, b Bounds, _ bool) (Outcome, error) {
	p, err := p.resolve(o.known)
	if err != nil {
		return Outcome{}, err
	}
	l := newLead(p, s, b)
	out, err := o.world.Run(o.ctx, p, l)
	out.tape = l.tape
	if f, ok := s.(*follow); ok {
		out.Missed = f.missed + len(f.choices)
	}
	if err == nil {
		out.Renewed, err = renewed(out, p)
	}
	return out, err
}

// renewed returns the commands of clients with neither a hold nor an operation under way by which data expires later than before. A node that executes
// the recorded commands again shows what they did; it is needed only if one of them may have renewed something.
func renewed(out Outcome, p Program) (found []history.Command, err error) {
	suspect := func(c history.Command) bool {
		return c.Node != storeNode && c.MayRenew() && c.Accepted() && wasIdle(out.Ops, p, c.Client, c.Sent)
	}
	if !slices.ContainsFunc(out.Commands, suspect) {
		return nil, nil
	}
	server, err := NewServer()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	rec := explain.Record{Header: out.Header, Ops: out.Ops, Commands: out.Commands, Scripts: out.Scripts, Faults: out.Windows}
	for _, e := range explain.Replay(rec, server).Events {
		if !slices.ContainsFunc(e.Changes, prolongs) {
			continue
		}
		for _, c := range out.Commands {
			if c.Node == e.Node && c.Conn == e.Conn && c.Name == e.Name && c.Sent <= e.At && e.At <= c.Replied && suspect(c) {
				c.Ran = e.At
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// Unshown returns the story of a violation of the tape's property by v that the operations of a record do not show, such as a renewal for a client
// without a hold; nil if there is none. An error comes from miniredis.
func (t Tape) Unshown(v impls.Variant, rec history.Recorded, windows []history.Window) ([]string, error) {
	p := t.Program
	p.Variant = v
	out := Outcome{Header: rec.Header, Ops: rec.Ops, Commands: rec.Commands, Scripts: rec.Scripts, Windows: windows}
	var err error
	if out.Renewed, err = renewed(out, p); err != nil {
		return nil, err
	}
	for _, b := range livenessFindings(out, p) {
		if b.Property == t.Property {
			return b.Story, nil
		}
	}
	return nil, nil
}

// wasIdle reports whether a client had neither a hold nor an operation under way at an instant, nor shortly before. See idle.
func wasIdle(ops []history.Operation, p Program, client string, at int64) bool {
	holds := 0
	for _, op := range ops {
		switch {
		case op.Client != client || op.Call > at:
		case op.Return+int64(p.Config.Lease)/idleMargin >= at && op.Op != history.Extend:
			return false
		case op.Op == history.Acquire && op.Outcome == history.OK:
			holds++
		case op.Op == history.Release && !mayStillHold(p.Variant.Kind, op):
			holds--
		}
	}
	return holds <= 0
}

// prolongs reports whether a change lets a key expire later, or raises the score of a member, which may be an instant.
func prolongs(c history.DataChange) bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	if c.Before.Until != 0 && (c.After.Until == 0 || c.After.Until > c.Before.Until) {
		return true
	}
	before, _ := c.Before.Value.(map[string]float64)
	after, _ := c.After.Value.(map[string]float64)
	for member, score := range after {
		if was, there := before[member]; there && score > was {
			return true
		}
	}
	return false
}

// ExploreIn is Explore in equivalent worlds outside the simulator, which share the schedules. cfg.Known must be set.
func ExploreIn(ctx context.Context, cfg ExploreConfig, worlds []World, progress func(Stats)) (ExploreResult, error) {
	var runners []runner
	for _, w := range worlds {
		runners = append(runners, worldRunner{context.WithoutCancel(ctx), w, cfg.Known})
	}
	return exploreHere(ctx, cfg, runners, progress)
}

// triesOutside is how many schedules of a smaller program are tried in real time.
const triesOutside = 12

// ShrinkIn is Shrink in a world outside the simulator.
func ShrinkIn(ctx context.Context, w World, known Catalogue, t Tape) (Tape, error) {
	h := &shrinker{host: worldRunner{context.WithoutCancel(ctx), w, known}, ctx: ctx, best: t, tries: triesOutside}
	return h.shrink()
}
