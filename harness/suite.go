package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Suite runs the cells and compares each with what the catalogue expects. Cells without a verdict
// say why; it returns an error only if ctx ends.
func Suite(ctx context.Context, cfg SuiteConfig) (results.Suite, error) {
	start := cfg.Now()
	pairs, notes := cfg.pairs()
	pairs, shard := cfg.sharded(pairs)
	s := &suite{cfg: cfg, pairs: pairs, cells: make([]results.Cell, len(pairs)), portTaken: make([]bool, len(pairs)), products: make([]string, len(pairs)), reached: make([]history.Reach, len(pairs)), work: make(chan int)}
	var workers sync.WaitGroup
	for range max(cfg.Side, 1) {
		workers.Go(func() {
			for i := range s.work {
				s.cells[i] = s.cell(ctx, i)
				s.mu.Lock()
				s.done++
				s.report(s.cells[i])
				s.mu.Unlock()
			}
		})
	}
	asked := s.feed(ctx)
	workers.Wait()
	for i := range s.cells[:asked] { // those without a verdict again, one at a time
		for n := 1; n < attempts && s.unclear(ctx, i); n++ {
			s.cells[i] = s.cell(ctx, i)
			s.report(s.cells[i])
		}
	}
	out := results.Suite{Server: cfg.Server, Product: slices.Max(append(s.products, "")), Seed: cfg.Seed, Duration: cfg.Now().Sub(start), Cells: s.cells[:asked], Notes: notes, Rerun: cfg.Rerun,
		Start: start.UTC(), Shard: shard, Missing: len(s.cells) - asked}
	if out.Missing > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("interrupted after %d of %d cells", asked, len(s.cells)))
	}
	for i, reached := range s.reached {
		if p := pairs[i]; p.variant.Planted == nil {
			out.Reach(p.variant.Name, reached)
		}
	}
	out.Judge()
	return out, ctx.Err()
}

type pair struct {
	variant  impls.Variant
	scenario scenarios.Scenario
}

// pairs lists the cells in the order of the variants, with a note for each scenario without
// expectations.
func (cfg SuiteConfig) pairs() (out []pair, notes []string) {
	for _, v := range cfg.Variants {
		for _, s := range cfg.Scenarios {
			if _, known := v.Expect[s.Name]; known {
				out = append(out, pair{v, s})
			}
		}
	}
	for _, s := range cfg.Scenarios {
		if !slices.ContainsFunc(out, func(p pair) bool { return p.scenario.Name == s.Name }) {
			notes = append(notes, fmt.Sprintf("the catalogue expects nothing of these locks in %s", s.Name))
		}
	}
	return out, notes
}

// sharded returns the pairs of the shard to run, and the shard with a description of the whole.
func (cfg SuiteConfig) sharded(pairs []pair) (out []pair, _ *results.Shard) {
	if cfg.Shard == nil {
		return pairs, nil
	}
	shard, plan := *cfg.Shard, []string{}
	for i, p := range pairs {
		plan = append(plan, fmt.Sprintf("%s %s %s", p.variant.Name, p.scenario.Name, p.variant.Expect[p.scenario.Name]))
		if shard.Has(i) {
			out = append(out, p)
		}
	}
	shard.Of, shard.Plan = len(pairs), results.PlanDigest(plan)
	return out, &shard
}

type suite struct {
	cfg   SuiteConfig
	pairs []pair
	cells []results.Cell // each written by the worker that received its index
	work  chan int

	reached  []history.Reach // by cell, written likewise
	products []string        // by cell, written likewise: the make and version of its servers
	// by cell, written likewise: its last run ended because another process took the port of a
	// server that was down
	portTaken []bool

	mu   sync.Mutex // one Each at a time; protects done
	done int
}

// feed hands out the cells in order and returns how many it handed out.
func (s *suite) feed(ctx context.Context) int {
	defer close(s.work)
	for i := range s.cells {
		select {
		case s.work <- i:
		case <-s.cfg.Stop:
			return i
		case <-ctx.Done():
			return i
		}
	}
	return len(s.cells)
}

func (s *suite) report(c results.Cell) {
	if s.cfg.Each != nil {
		s.cfg.Each(s.done, len(s.cells), c)
	}
}

// attempts is how often a cell without a verdict is run, alongside others and then alone: a busy
// machine may miss a moment or stall a client.
const attempts = 4

// unclear reports whether another run of a cell may help: it has no verdict, unless for an error
// other than a taken port, or missed a planted bug.
func (s *suite) unclear(ctx context.Context, i int) bool {
	c := s.cells[i]
	missed := c.Planted && c.Verdict == checker.Fail
	return (c.Verdict == checker.Inconclusive || missed) && (c.Observed != results.NothingObserved || s.portTaken[i]) && !closed(s.cfg.Stop) && ctx.Err() == nil
}

func (s *suite) cell(ctx context.Context, i int) (c results.Cell) {
	p, start := s.pairs[i], s.cfg.Now()
	want := p.variant.Expect[p.scenario.Name]
	if want.NA != "" {
		c = results.NACell(p.variant.Name, p.scenario.Name, want.NA)
		c.Planted = p.variant.Planted != nil
		return c
	}
	out, err := s.cfg.Run(ctx, p.variant, p.scenario)
	var r results.Result
	if out != nil {
		r = out.Result
	}
	s.products[i], s.reached[i] = r.Product, r.Reached
	s.portTaken[i] = errors.Is(err, servers.ErrPortTaken)
	switch {
	case errors.Is(err, ErrNotApplicable), errors.Is(err, impls.ErrUnsupported):
		c = results.NACell(p.variant.Name, p.scenario.Name, err.Error())
	case err != nil:
		c = results.ErrorCell(p.variant.Name, p.scenario.Name, want, err)
	case p.variant.Planted != nil:
		c = results.PlantedCell(r, want)
	default:
		c = results.NewCell(r, want)
	}
	c.Planted = p.variant.Planted != nil
	if s.cfg.Keep != nil {
		c.Run = s.cfg.Keep(c, out, err)
	}
	c.Duration = s.cfg.Now().Sub(start)
	return c
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
