package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
)

// Config configures a search through the schedules of a program.
type Config struct {
	Program   sim.Program
	Bounds    sim.Bounds
	Strategy  string // "" means Mixed
	Seed      uint64 // of the search
	Schedules int    // at most; 0 means no limit
	// of real time; 0 means no limit. Without limits a random search that finds nothing runs until
	// its context ends
	Budget  time.Duration
	Workers int // processes; 0 means one per core
	// one of several searches, on different machines, that divide the schedules; zero: the only one
	Shard Shard
	All   bool // go on after a finding, to count
	// "property" or "property/cause": other violations are counted but are no findings; nil means
	// all are
	Seek []string
	// Silence is how long a worker may send nothing before it counts as being in an endless loop; 0
	// means five seconds.
	Silence time.Duration
	// Command starts a worker; nil means this program again, which must call WorkerMain when
	// IsWorker says so.
	Command []string
	// Env is appended to a worker's environment.
	Env []string
	// Known finds the variant in this process; nil for a program that carries it. A worker has its
	// own; see WorkerMain.
	Known sim.Catalogue
}

// Stats is the progress of an exploration.
type Stats struct {
	Schedules int           `json:"schedules"`
	Steps     int           `json:"steps"`
	States    int           `json:"states"` // distinct states, in an exhaustive search
	Virtual   time.Duration `json:"virtual"`
	Elapsed   time.Duration `json:"-"`
	Findings  int           `json:"-"`
}

// Shard is one of Count searches with the same settings and seed that divide the schedules. Index
// counts from 1. It is a type of this package, since whoever tests a lock compiles what this
// package imports.
type Shard struct{ Index, Count int }

// of returns how many of the first n schedules belong to the shard: every Count-th, beginning with
// number Index-1.
func (s Shard) of(n int) int { return (n - s.Index + s.Count) / s.Count }

// Result is the result of an exploration: what is saved of it, and the tape of its finding.
type Result struct {
	explored.Exploration
	Tape sim.Tape // of First
	// why the simulator could not go on with this lock, which is no evidence of anything; "" if it
	// could
	NotExplorable string
}

// Keep stores a tape as the finding's.
func (r *Result) Keep(t sim.Tape) {
	r.Tape, r.First.Steps, r.First.Clients, r.First.Ops = t, t.Steps, t.Program.Clients, t.Program.Config.Ops
}

// Explore searches with worker processes until the bounds are exhausted, there is a finding, the
// limits are reached or ctx ends. The end of ctx is no error: the result is what was found by then.
// progress, which may be nil, is called from one goroutine.
func Explore(ctx context.Context, cfg Config, progress func(Stats)) (Result, error) {
	e, err := newExploration(cfg, progress)
	if err != nil {
		return Result{}, err
	}
	return e.search(ctx, e.drive)
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
	for part := range e.workers {
		workers.Go(func() {
			do(ctx, part)
			e.begun(part, math.MaxInt)
		})
	}
	workers.Wait()
	return e.result()
}

type exploration struct {
	cfg     Config
	job     searchJob
	workers int
	shard   Shard
	started time.Time
	cancel  context.CancelFunc
	report  func(Stats)

	mu       sync.Mutex // guards the fields below against the goroutines that read from workers
	parts    []progress // by worker
	at       []int      // by worker: the schedule that it has begun
	ended    []progress // of workers that were replaced
	first    *finding
	findings int
	errs     []error
	warnings []string
}

func newExploration(cfg Config, report func(Stats)) (*exploration, error) {
	p, err := cfg.Program.Resolve(cfg.Known)
	if err != nil {
		return nil, err
	}
	workers, shard := cmp.Or(cfg.Workers, runtime.NumCPU()), cmp.Or(cfg.Shard, Shard{Index: 1, Count: 1})
	if report == nil {
		report = func(Stats) {}
	}
	j := searchJob{Program: p, Bounds: cfg.Bounds.WithDefaults(p), Strategy: cmp.Or(cfg.Strategy, Mixed), Seed: cfg.Seed, Parts: workers * shard.Count, All: cfg.All, Seek: cfg.Seek,
		Schedules: cfg.Schedules}
	j.Bounds.Instant = j.Bounds.Instant || j.Strategy == Exhaustive
	return &exploration{cfg: cfg, job: j, workers: workers, shard: shard, started: time.Now(), report: report, parts: make([]progress, workers),
		at: slices.Repeat([]int{-1}, workers)}, j.check()
}

// begins returns a worker's number among those of all shards, and that of its first schedule. A
// shard has every Count-th, whatever its workers.
func (e *exploration) begins(worker int) int { return e.shard.Index - 1 + e.shard.Count*worker }

// jobOf returns a worker's part of the search, from its schedule first on; some is false if none is
// left.
func (e *exploration) jobOf(worker, first int) (j searchJob, some bool) {
	j = e.job
	j.Part, j.First = e.begins(worker), first
	if j.Schedules > 0 {
		j.Schedules -= first
		return j, j.Schedules > 0
	}
	return j, true
}

// drive runs one worker, and another if it fell silent in a schedule that does end: a slow machine
// is no finding.
func (e *exploration) drive(ctx context.Context, part int) {
	for first := e.begins(part); ; {
		j, some := e.jobOf(part, first)
		if !some {
			return
		}
		died, err := e.runWorker(ctx, j, e.silence(), e.hears(part))
		if err != nil {
			e.fail(err)
		}
		if died == nil {
			return
		}
		if upstream.Crossed(died.why) {
			e.record(part, progress{Unexplorable: "not explorable: the lock keeps in its process, for all schedules, what belongs to one: " + firstLines(died.why, 12)})
			return
		}
		f, again := e.rerun(ctx, j, *died)
		if again || !died.silent {
			e.found(f)
			if !e.cfg.All || e.job.Strategy == Exhaustive { // a walk's path past the schedule that killed it is lost
				return
			}
			died.schedule += e.job.Parts
		}
		first = e.resume(part, first, died.schedule)
	}
}

// resume returns the schedule with which a worker's successor begins: the one under way, or the
// first if a walk has lost the states that it saw.
func (e *exploration) resume(part, first, schedule int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.job.Strategy == Exhaustive {
		e.parts[part] = progress{}
		return e.begins(part)
	}
	e.parts[part].Schedules = (schedule - first) / e.job.Parts // its last progress report may be older
	e.ended = append(e.ended, e.parts[part])
	e.parts[part] = progress{}
	return schedule
}

func (e *exploration) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, err)
	e.cancel()
}

// begun records which schedule a worker has reached; math.MaxInt when it is done.
func (e *exploration) begun(part, schedule int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at[part] = schedule
	e.stopBehindFirst()
}

// stopBehindFirst ends a search once every worker is past its finding: the same seed reports the
// same one. A walk's numbers do not order its schedules.
func (e *exploration) stopBehindFirst() {
	if e.first == nil || e.cfg.All {
		return
	}
	if e.job.Strategy == Exhaustive || slices.Min(e.at) >= e.first.Schedule {
		e.cancel()
	}
}

// found records a finding; the one with the lowest number is reported.
func (e *exploration) found(f finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.findings++
	if e.first == nil || f.Schedule < e.first.Schedule {
		e.first = &f
	}
	e.stopBehindFirst()
}

func (e *exploration) record(part int, p progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// the search goes on counting
	p.Violated, p.Excepted, p.Reached = maps.Clone(p.Violated), maps.Clone(p.Excepted), maps.Clone(p.Reached)
	e.parts[part] = p
	if p.Unexplorable != "" {
		e.cancel()
	}
	s := e.sum().Stats
	s.Elapsed, s.Findings = time.Since(e.started), e.findings
	e.report(s)
}

func (e *exploration) sum() progress {
	all := progress{Violated: map[string]int{}, Excepted: map[string]int{}, Reached: history.Reach{}, Exhausted: true}
	for _, p := range slices.Concat(e.parts, e.ended) {
		all.Schedules += p.Schedules
		all.Steps += p.Steps
		all.States += p.States
		all.Pruned += p.Pruned
		all.Virtual += p.Virtual
		all.Unhashed += p.Unhashed
		all.Lacking = cmp.Or(all.Lacking, p.Lacking)
		all.Unexplorable = cmp.Or(all.Unexplorable, p.Unexplorable)
		all.Why = cmp.Or(all.Why, p.Why)
		all.Exhausted = all.Exhausted && p.Exhausted
		for k, n := range p.Violated {
			all.Violated[k] += n
		}
		for k, n := range p.Excepted {
			all.Excepted[k] += n
		}
		all.Reached.Add(p.Reached)
	}
	return all
}

func (e *exploration) result() (Result, error) {
	sum := e.sum()
	r := Result{Exploration: explored.Exploration{
		Schema: explored.ExploreSchema, Lock: e.job.Program.Lock, Verdict: checker.Pass, Schedules: sum.Schedules, Exhausted: sum.Exhausted,
		Strategy: e.job.Strategy, Bounds: explored.Bounds(e.job.Bounds), Seconds: time.Since(e.started).Seconds(), Virtual: sum.Virtual.Seconds(),
		States: sum.States, Unhashed: sum.Unhashed, Steps: sum.Steps, Violated: sum.Violated, Excepted: sum.Excepted, Warnings: e.warnings,
	}}
	if e.shard.Count > 1 {
		r.Shard = fmt.Sprintf("%d/%d", e.shard.Index, e.shard.Count)
	}
	if r.Reason = e.short(sum); r.Reason != "" {
		r.Verdict = checker.Inconclusive
	}
	if sum.Unexplorable != "" || sum.Lacking != "" {
		r.NotExplorable = r.Reason
	}
	if sum.Lacking != "" && e.first != nil {
		r.Warnings = append(r.Warnings, sim.Without(e.job.Program.Lock, sum.Lacking))
	}
	if sum.Unexplorable != "" {
		r.Warnings = append(r.Warnings, firstLines(sum.Unexplorable, 12))
	}
	if e.first == nil {
		r.NeverReached = sum.Reached.Never()
	}
	if f := e.first; f != nil {
		r.Verdict, r.Exhausted = checker.Fail, false
		r.First = &explored.Finding{Schedule: f.Schedule, Property: f.Broken.Property, Cause: f.Broken.Cause}
		r.Keep(f.Tape)
	}
	return r, errors.Join(e.errs...)
}

// short returns why the search covered less than requested; "" if it did not, or found something.
func (e *exploration) short(sum progress) string {
	elapsed, share := time.Since(e.started), e.shard.of(e.job.Schedules)
	switch {
	case e.first != nil:
		return ""
	case sum.Unexplorable != "":
		return firstLines(sum.Unexplorable, 1)
	case sum.Lacking != "":
		return sim.Without(e.job.Program.Lock, sum.Lacking)
	case sum.Exhausted:
		return ""
	case sum.Schedules == 0 && (e.job.Schedules == 0 || share > 0):
		return "no schedule was run"
	case e.job.Schedules > 0 && sum.Schedules < share:
		return fmt.Sprintf("the search ended after %d of %d schedules", sum.Schedules, share)
	case e.job.Schedules == 0 && elapsed < e.cfg.Budget:
		return cmp.Or(sum.Why, fmt.Sprintf("the search ended after %v of %v", elapsed.Round(time.Millisecond), e.cfg.Budget))
	case e.job.Schedules == 0 && e.cfg.Budget == 0 && e.job.Strategy == Exhaustive:
		return cmp.Or(sum.Why, "the search ended before all schedules were run")
	}
	return ""
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
		if err := e.here(ctx, part, runners[part]); err != nil {
			e.fail(err)
		}
	})
}

// here does one worker's part in this process.
func (e *exploration) here(ctx context.Context, part int, r sim.Runner) error {
	j, some := e.jobOf(part, e.begins(part))
	if !some {
		return nil
	}
	one, err := newSearch(j, r)
	if err != nil {
		return err
	}
	one.begin, one.found = func(n int, _ []int) { e.begun(part, n) }, e.found
	one.every = func(p progress) { e.record(part, p) }
	err = one.run(ctx)
	e.record(part, one.progress) // what ended the search, besides findings
	return err
}
