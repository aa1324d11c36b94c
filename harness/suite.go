package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// SuiteConfig says which cells are run, and how. Every variant runs every scenario for which the
// catalogue has an expectation of it.
type SuiteConfig struct {
	Variants  []impls.Variant
	Scenarios []scenarios.Scenario // not yet resolved
	Server    string               // for the record
	Seed      uint64
	Side      int // number of cells run concurrently
	Rerun     string
	Shard     *results.Shard // the part of the cells to run; nil: all
	// Run makes one run of a cell, on servers of its own.
	Run func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (*Outcome, error)
	// Keep, when set, is called with each run's cell, and returns the directory in which the run is
	// kept; "" for none. A cell that is run again is called with again.
	Keep func(c results.Cell, out *Outcome, err error) (dir string)
	// Stop, when closed, lets the cells under way finish and starts no others.
	Stop <-chan struct{}
	// Each, when set, is called with every finished cell, by one goroutine at a time.
	Each func(done, all int, c results.Cell)
	Now  func() time.Time
}

// place is a cell of a suite and what its last run came to.
type place struct {
	variant  impls.Variant
	scenario scenarios.Scenario

	cell      results.Cell
	reached   history.Reach
	product   string // the make and version of its servers
	portTaken bool   // it ended because another process took the port of a server that was down
}

// attempts is how often a cell without a verdict is run, alongside others and then alone: a busy
// machine may miss a moment or stall a client.
const attempts = 4

// Suite runs the cells and compares each with what the catalogue expects. Cells without a verdict
// say why; it returns an error only if ctx ends.
func Suite(ctx context.Context, cfg SuiteConfig) (results.Suite, error) {
	start := cfg.Now()
	places, shard, notes := cfg.places()
	var mu sync.Mutex // one Each at a time; protects done
	done := 0
	report := func(c results.Cell) {
		if cfg.Each != nil {
			cfg.Each(done, len(places), c)
		}
	}
	work := make(chan *place)
	var workers sync.WaitGroup
	for range max(cfg.Side, 1) {
		workers.Go(func() {
			for p := range work {
				cfg.run(ctx, p)
				mu.Lock()
				done++
				report(p.cell)
				mu.Unlock()
			}
		})
	}
	over := func() bool { return closed(cfg.Stop) || ctx.Err() != nil }
	asked := 0
	for asked < len(places) && !over() {
		select {
		case work <- &places[asked]:
			asked++
		case <-cfg.Stop:
		case <-ctx.Done():
		}
	}
	close(work)
	workers.Wait()
	out := results.Suite{Server: cfg.Server, Seed: cfg.Seed, Cells: []results.Cell{}, Notes: notes, Rerun: cfg.Rerun,
		Start: start.UTC(), Shard: shard, Missing: len(places) - asked}
	for i := range places[:asked] { // those without a verdict again, one at a time
		p := &places[i]
		for n := 1; n < attempts && p.unclear() && !over(); n++ {
			cfg.run(ctx, p)
			report(p.cell)
		}
		out.Cells, out.Product = append(out.Cells, p.cell), max(out.Product, p.product)
		if p.variant.Planted == nil {
			out.Reach(p.variant.Name, p.reached)
		}
	}
	if out.Missing > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("interrupted after %d of %d cells", asked, len(places)))
	}
	out.Duration = cfg.Now().Sub(start)
	out.Judge()
	return out, ctx.Err()
}

// places lists the cells to run, in the order of the variants, with a note for each scenario
// without expectations, and the shard with a description of the whole.
func (cfg SuiteConfig) places() (out []place, shard *results.Shard, notes []string) {
	var plan []string
	expected := map[string]bool{}
	for _, v := range cfg.Variants {
		for _, s := range cfg.Scenarios {
			want, known := v.Expect[s.Name]
			if !known {
				continue
			}
			expected[s.Name] = true
			if cfg.Shard == nil || cfg.Shard.Has(len(plan)) {
				out = append(out, place{variant: v, scenario: s})
			}
			plan = append(plan, fmt.Sprintf("%s %s %s", v.Name, s.Name, want))
		}
	}
	for _, s := range cfg.Scenarios {
		if !expected[s.Name] {
			notes = append(notes, fmt.Sprintf("the catalogue expects nothing of these locks in %s", s.Name))
		}
	}
	if cfg.Shard != nil {
		shard = &results.Shard{}
		*shard = *cfg.Shard
		shard.Of, shard.Plan = len(plan), results.PlanDigest(plan)
	}
	return out, shard, notes
}

// unclear reports whether another run of a cell may help: it has no verdict, unless for an error
// other than a taken port, or missed a planted bug.
func (p *place) unclear() bool {
	missed := p.cell.Planted && p.cell.Verdict == checker.Fail
	return (p.cell.Verdict == checker.Inconclusive || missed) && (p.cell.Observed != results.NothingObserved || p.portTaken)
}

// run runs a cell.
func (cfg SuiteConfig) run(ctx context.Context, p *place) {
	start, c := cfg.Now(), &p.cell
	want := p.variant.Expect[p.scenario.Name]
	if want.NA != "" {
		*c = results.NACell(p.variant.Name, p.scenario.Name, want.NA)
		c.Planted = p.variant.Planted != nil
		return
	}
	out, err := cfg.Run(ctx, p.variant, p.scenario)
	var r results.Result
	if out != nil {
		r = out.Result
	}
	p.product, p.reached, p.portTaken = r.Product, r.Reached, errors.Is(err, servers.ErrPortTaken)
	switch {
	case errors.Is(err, ErrNotApplicable), errors.Is(err, impls.ErrUnsupported):
		*c = results.NACell(p.variant.Name, p.scenario.Name, err.Error())
	case err != nil:
		*c = results.ErrorCell(p.variant.Name, p.scenario.Name, want, err)
	case p.variant.Planted != nil:
		*c = results.PlantedCell(r, want)
	default:
		*c = results.NewCell(r, want)
	}
	c.Planted = p.variant.Planted != nil
	if cfg.Keep != nil {
		c.Run = cfg.Keep(*c, out, err)
	}
	c.Duration = cfg.Now().Sub(start)
}

// closed reports whether a channel is closed. A nil channel never is.
func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
