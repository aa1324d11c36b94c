package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
)

// SuiteConfig says which cells are run, and how. Every variant meets every scenario.
type SuiteConfig struct {
	Variants  []impls.Variant
	Scenarios []scenarios.Scenario // not yet resolved
	Server    string               // for the record
	Seed      uint64
	Side      int // how many cells run side by side
	Rerun     string
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
	s := &suite{cfg: cfg, cells: make([]results.Cell, len(cfg.Variants)*len(cfg.Scenarios)), work: make(chan int)}
	var workers sync.WaitGroup
	for range max(cfg.Side, 1) {
		workers.Go(func() { s.worker(ctx) })
	}
	asked := s.feed(ctx)
	workers.Wait()
	s.again(ctx, asked)
	out := results.Suite{Server: cfg.Server, Seed: cfg.Seed, Duration: cfg.Now().Sub(start), Cells: s.cells[:asked], Rerun: cfg.Rerun}
	if asked < len(s.cells) {
		out.Notes = append(out.Notes, fmt.Sprintf("stopped after %d of %d cells", asked, len(s.cells)))
	}
	out.Judge()
	return out, ctx.Err()
}

// suite is a Suite under way.
type suite struct {
	cfg   SuiteConfig
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
		v, sc := s.cfg.Variants[i/len(s.cfg.Scenarios)], s.cfg.Scenarios[i%len(s.cfg.Scenarios)]
		s.cells[i] = s.cell(ctx, v, sc)
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
			s.cells[i] = s.cell(ctx, s.cfg.Variants[i/len(s.cfg.Scenarios)], s.cfg.Scenarios[i%len(s.cfg.Scenarios)])
			s.tell(s.cells[i])
		}
	}
}

// unclear tells a cell that a further run may clear up. One that ended in an error is not: it would again.
func (s *suite) unclear(ctx context.Context, i int) bool {
	return s.cells[i].Verdict == checker.Inconclusive && s.cells[i].Observed != results.NothingObserved && !closed(s.cfg.Stop) && ctx.Err() == nil
}

func (s *suite) cell(ctx context.Context, v impls.Variant, sc scenarios.Scenario) (c results.Cell) {
	defer func() { c.Planted = v.Planted != nil }()
	want, known := v.Expect[sc.Name]
	switch {
	case !known:
		return results.NACell(v.Name, sc.Name, "the catalogue expects nothing of this pair")
	case want.NA != "":
		return results.NACell(v.Name, sc.Name, want.NA)
	}
	r, dir, err := s.cfg.Cell(ctx, v, sc)
	switch {
	case errors.Is(err, ErrNotApplicable), errors.Is(err, impls.ErrUnsupported):
		return results.NACell(v.Name, sc.Name, err.Error())
	case err != nil:
		c = results.ErrorCell(v.Name, sc.Name, want, err)
	default:
		c = results.NewCell(r, want)
	}
	c.Run = dir
	return c
}

// closed tells whether somebody asked for the end. A nil channel is never closed.
func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
