package search

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// How many schedules of a smaller program Shrink tries: simulated ones take a millisecond, those in
// real time seconds.
const (
	Tries         = 400
	TriesRealTime = 12
)

// Shrink minimizes a failing tape: it searches smaller programs, with fewer clients, rounds, faults
// and polls, for the same violation and cause, then leaves out choices one by one. If ctx ends, it
// returns the smallest so far; a tape whose lock kills its process is returned unchanged.
func Shrink(ctx context.Context, r sim.Runner, t sim.Tape, tries int) (sim.Tape, error) {
	h := &shrinker{host: r, ctx: ctx, best: t, tries: tries}
	defer h.causes.Close()
	for _, smaller := range []func() error{h.program, h.faults, h.choices, h.waits, h.choices} {
		if err := smaller(); err != nil {
			return h.best, err
		}
	}
	return h.best, nil
}

type shrinker struct {
	host  sim.Runner
	ctx   context.Context
	best  sim.Tape
	tries int // how many schedules of a smaller program are searched for the violation

	causes explainer
}

// program searches smaller programs, the smallest first, for the same violation. The bare workload
// has no store to damage.
func (h *shrinker) program() error {
	best := h.best.Program
	loads := []string{best.Load}
	if best.Load == "counter" && h.best.Property != verdicts.StoreIntegrity {
		loads = []string{"hot", best.Load}
	}
	var smaller []sim.Program
	for _, load := range loads {
		for clients := min(2, best.Clients); clients <= best.Clients; clients++ {
			for ops := 1; ops <= max(best.Config.Ops, 1); ops++ {
				for _, poll := range slices.Compact([]time.Duration{max(best.Poll, best.Config.Lease*3/5), best.Poll}) {
					p := best
					p.Load, p.Workload = load, nil
					p.Clients, p.Config.Ops, p.Poll = clients, ops, poll
					smaller = append(smaller, p)
				}
			}
		}
	}
	slices.SortStableFunc(smaller, func(a, b sim.Program) int { return a.Clients*a.Config.Ops - b.Clients*b.Config.Ops })
	for _, p := range smaller {
		if h.ctx.Err() != nil {
			return nil
		}
		if found, err := h.search(p); err != nil || found {
			return err
		}
	}
	return nil
}

// faults searches the program without each of its faults, those that are there from the start or at
// a moment. Those that the search placed are choices.
func (h *shrinker) faults() error {
	for i := len(h.best.Program.Faults) - 1; i >= 0 && h.ctx.Err() == nil; i-- {
		p := h.best.Program
		p.Faults = slices.Delete(slices.Clone(p.Faults), i, i+1)
		if _, err := h.search(p); err != nil {
			return err
		}
	}
	return nil
}

// search looks for the violation in a smaller program, with no more faults than the tape had.
func (h *shrinker) search(p sim.Program) (bool, error) {
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f faults.Spec) bool { return f.Client > p.Clients })
	b := h.best.Bounds
	b.Faults, b.MaxFaults = nil, 0
	for _, c := range h.best.Choices {
		if f, ok := c.Fault(); ok {
			b.Faults = append(b.Faults, f)
			b.MaxFaults++
		}
	}
	slices.Sort(b.Faults)
	b.Faults = slices.Compact(b.Faults)
	j := searchJob{Config: Config{Program: p, Bounds: b, Strategy: Mixed, Seed: h.best.Program.Seed, Schedules: h.tries}, Parts: 1}
	s, err := newSearch(j, h.host)
	if err != nil {
		return false, err
	}
	found := false
	s.tell = func(l line) {
		if l.Finding != nil {
			h.best, found = l.Finding.Tape, true
		}
	}
	s.only = func(b broken) bool { return b.key() == h.best.Key() }
	err = s.run(h.ctx)
	return found, err
}

// choices leaves out unnecessary choices: first halves, then quarters, down to single ones.
func (h *shrinker) choices() error {
	for size := (len(h.best.Choices) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(h.best.Choices) && h.ctx.Err() == nil; {
			without := slices.Delete(slices.Clone(h.best.Choices), from, min(from+size, len(h.best.Choices)))
			kept, err := h.try(h.best.Program, without)
			if err != nil {
				return err
			}
			if !kept {
				from += size
			}
		}
	}
	return nil
}

// waits tries rounds without a pause between them.
func (h *shrinker) waits() error {
	p := h.best.Program
	if p.Config.Pause == 0 {
		return nil
	}
	p.Config.Pause = 0
	_, err := h.try(p, h.best.Choices)
	return err
}

// try runs a program along choices; if the violation is still there, the result is the best so far,
// without the choices that were not possible.
func (h *shrinker) try(p sim.Program, choices []sim.Choice) (bool, error) {
	out, err := h.host.Schedule(p, sim.Tape{Choices: slices.Clone(choices)}.Follow(), h.best.Bounds, false)
	if err != nil {
		return false, err
	}
	all, _, err := h.causes.judge(context.WithoutCancel(h.ctx), out, true)
	b, ok := withKey(all, h.best.Key())
	if err != nil || !ok {
		return false, err
	}
	h.best = newTape(out, h.best.Bounds, b)
	return true, nil
}
