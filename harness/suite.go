package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
)

// SuiteConfig says which cells are run, and how. Every variant meets every scenario in which the catalogue expects something of it.
type SuiteConfig struct {
	Variants  []impls.Variant
	Scenarios []scenarios.Scenario // not yet resolved
	Server    string               // for the record
	Seed      uint64
	Side      int // how many cells run side by side
	Rerun     string
	Shard     *results.Shard // the part of the cells that is run; nil: all
	// Cell makes one run on servers of its own and gives its result and its run directory.
	Cell func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (results.Result, string, error)
	// Stop, when closed, lets the cells under way finish and begins no other.
	Stop <-chan struct{}
	// Each, when set, is told of every cell as it is done, from one goroutine at a time.
	Each func(done, all int, c results.Cell)
	Now  func() time.Time
}

// Suite runs the cells and holds each against what the catalogue expects. Cells that fail to come to a verdict are
// inconclusive and say why; an error is returned only when ctx ends.
func Suite(ctx context.Context, cfg SuiteConfig) (results.Suite, error) {
	start := cfg.Now()
	pairs, notes := cfg.pairs()
	pairs, shard := cfg.sharded(pairs)
	s := &suite{cfg: cfg, pairs: pairs, cells: make([]results.Cell, len(pairs)), work: make(chan int)}
	var workers sync.WaitGroup
	for range max(cfg.Side, 1) {
		workers.Go(func() { s.worker(ctx) })
	}
	asked := s.feed(ctx)
	workers.Wait()
	s.again(ctx, asked)
	out := results.Suite{Server: cfg.Server, Seed: cfg.Seed, Duration: cfg.Now().Sub(start), Cells: s.cells[:asked], Notes: notes, Rerun: cfg.Rerun,
		Start: start.UTC(), Shard: shard, Missing: len(s.cells) - asked}
	if out.Missing > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("stopped after %d of %d cells", asked, len(s.cells)))
	}
	out.Judge()
	return out, ctx.Err()
}

// pair is a cell that is to be run.
type pair struct {
	variant  impls.Variant
	scenario scenarios.Scenario
}

// pairs lists the cells in the order of the variants, and says of which scenario nothing is expected.
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

// sharded returns the pairs of the shard that is to be run, and the shard with what it is a part of.
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

// suite is a Suite under way.
type suite struct {
	cfg   SuiteConfig
	pairs []pair
	cells []results.Cell // each written by the worker that was given its index
	work  chan int

	mu   sync.Mutex // one Each at a time; protects done
	done int
}

// feed hands out the cells in order and tells how many it handed out.
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

func (s *suite) worker(ctx context.Context) {
	for i := range s.work {
		s.cells[i] = s.cell(ctx, s.pairs[i])
		s.mu.Lock()
		s.done++
		s.tell(s.cells[i])
		s.mu.Unlock()
	}
}

func (s *suite) tell(c results.Cell) {
	if s.cfg.Each != nil {
		s.cfg.Each(s.done, len(s.cells), c)
	}
}

// attempts is how often a cell that came to no verdict is run: side by side with others first, and then by itself. A machine that is
// short of time misses a moment now and then, or stalls a client; what a run did show is never run again.
const attempts = 4

// again runs the cells that came to no verdict once more, one at a time.
func (s *suite) again(ctx context.Context, asked int) {
	for i := range s.cells[:asked] {
		for n := 1; n < attempts && s.unclear(ctx, i); n++ {
			s.cells[i] = s.cell(ctx, s.pairs[i])
			s.tell(s.cells[i])
		}
	}
}

// unclear tells a cell that a further run may clear up: one without a verdict, or a planted bug that was not seen, which shows nothing of the
// bug. One that ended in an error is not: it would again.
func (s *suite) unclear(ctx context.Context, i int) bool {
	c := s.cells[i]
	missed := c.Planted && c.Verdict == checker.Fail
	return (c.Verdict == checker.Inconclusive || missed) && c.Observed != results.NothingObserved && !closed(s.cfg.Stop) && ctx.Err() == nil
}

func (s *suite) cell(ctx context.Context, p pair) (c results.Cell) {
	start := s.cfg.Now()
	defer func() { c.Planted, c.Duration = p.variant.Planted != nil, s.cfg.Now().Sub(start) }()
	want := p.variant.Expect[p.scenario.Name]
	if want.NA != "" {
		return results.NACell(p.variant.Name, p.scenario.Name, want.NA)
	}
	r, dir, err := s.cfg.Cell(ctx, p.variant, p.scenario)
	switch {
	case errors.Is(err, ErrNotApplicable), errors.Is(err, impls.ErrUnsupported):
		return results.NACell(p.variant.Name, p.scenario.Name, err.Error())
	case err != nil:
		c = results.ErrorCell(p.variant.Name, p.scenario.Name, want, err)
	case p.variant.Planted != nil:
		c = results.PlantedCell(r, want)
	default:
		c = results.NewCell(r, want)
	}
	c.Run = dir
	return c
}

// closed reports whether somebody asked for the end. A nil channel is never closed.
func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
