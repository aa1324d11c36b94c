package search

import (
	"context"
	"math"
	"sync"

	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/sim"
)

// Explore searches with worker processes until the bounds are exhausted, there is a finding, the
// limits are reached or ctx ends. The end of ctx is no error: the result is what was found by then.
// report, which may be nil, is called from one goroutine.
func Explore(ctx context.Context, cfg Config, report func(Stats)) (Result, error) {
	e, err := newExploration(cfg, report)
	if err != nil {
		return Result{}, err
	}
	return e.search(ctx, func(ctx context.Context, part int) {
		j, some := e.jobOf(part)
		if !some {
			return
		}
		died, err := e.runWorker(ctx, j, e.hears(part))
		switch {
		case err != nil:
			e.fail(err)
		case died == nil:
		case upstream.Crossed(died.why):
			e.record(part, progress{Unexplorable: "not explorable: the lock keeps in its process, for all schedules, what belongs to one: " + firstLines(died.why, 12)})
		default: // the lock under test has ended its process
			e.found(e.rerun(ctx, j, *died))
		}
	})
}

// search searches in all workers, each by do, within the time allowed.
func (e *exploration) search(ctx context.Context, do func(ctx context.Context, worker int)) (Result, error) {
	if e.cfg.Budget > 0 {
		limited, cancel := context.WithTimeout(ctx, e.cfg.Budget)
		defer cancel()
		ctx = limited
	}
	ctx, e.cancel = context.WithCancel(ctx)
	defer e.cancel()
	var workers sync.WaitGroup
	for part := range e.cfg.Workers {
		workers.Go(func() {
			do(ctx, part)
			e.begun(part, math.MaxInt)
		})
	}
	workers.Wait()
	return e.result()
}

// Here searches in this process, with a goroutine for each runner, which share the schedules:
// simulators, for tests of a lock that the test defines (one that crashes its process crashes the
// test), or equivalent worlds outside. The catalogue is theirs.
func Here(ctx context.Context, cfg Config, runners []sim.Runner, report func(Stats)) (Result, error) {
	cfg.Workers, cfg.Known = len(runners), runners[0].Catalogue()
	e, err := newExploration(cfg, report)
	if err != nil {
		return Result{}, err
	}
	return e.search(ctx, func(ctx context.Context, part int) {
		j, some := e.jobOf(part)
		if !some {
			return
		}
		one, err := newSearch(j, runners[part])
		if err == nil {
			one.tell = e.hears(part)
			err = one.run(ctx)
			e.record(part, one.progress) // what ended the search, besides findings
		}
		if err != nil {
			e.fail(err)
		}
	})
}
