package sim

import (
	"context"

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
	return out, err
}

// Unshown returns the story of a violation of the tape's property by v that the operations of a record do not show, such as a renewal for a client
// without a hold; nil if there is none. An error comes from miniredis.
func (t Tape) Unshown(v impls.Variant, rec history.Recorded, windows []history.Window) ([]string, error) {
	p := t.Program
	p.Variant = v
	out := Outcome{Header: rec.Header, Ops: rec.Ops, Commands: rec.Commands, Scripts: rec.Scripts, Windows: windows}
	var x explainer
	defer x.close()
	all, err := x.livenessFindings(out, p)
	for _, b := range all {
		if b.Property == t.Property {
			return b.Story, err
		}
	}
	return nil, err
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
