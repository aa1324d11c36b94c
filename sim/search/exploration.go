package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

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

type exploration struct {
	cfg     Config // with what it leaves open
	started time.Time
	cancel  context.CancelFunc
	report  func(Stats)

	mu       sync.Mutex // guards the fields below against the goroutines that read from workers
	parts    []progress // by worker
	at       []int      // by worker: the schedule that it has begun
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
	if report == nil {
		report = func(Stats) {}
	}
	cfg.Program, cfg.Bounds, cfg.Strategy = p, cfg.Bounds.WithDefaults(p), cmp.Or(cfg.Strategy, Mixed)
	cfg.Bounds.Instant = cfg.Bounds.Instant || cfg.Strategy == Exhaustive
	cfg.Workers, cfg.Shard = cmp.Or(cfg.Workers, runtime.NumCPU()), cmp.Or(cfg.Shard, Shard{Index: 1, Count: 1})
	return &exploration{cfg: cfg, started: time.Now(), report: report, parts: make([]progress, cfg.Workers),
		at: slices.Repeat([]int{-1}, cfg.Workers)}, cfg.check()
}

// jobOf returns a worker's part of the search; some is false if it has none. A shard has every
// Count-th schedule, whatever its workers.
func (e *exploration) jobOf(worker int) (j searchJob, some bool) {
	first := e.cfg.Shard.Index - 1 + e.cfg.Shard.Count*worker // the worker's number among those of all shards
	j = searchJob{Config: e.cfg, Part: first, Parts: e.cfg.Workers * e.cfg.Shard.Count, First: first}
	if j.Schedules > 0 {
		j.Schedules -= first
		return j, j.Schedules > 0
	}
	return j, true
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
	if e.first == nil {
		return
	}
	if e.cfg.Strategy == Exhaustive || slices.Min(e.at) >= e.first.Schedule {
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
	p.Violated, p.Excepted, p.Reached, p.Errors = maps.Clone(p.Violated), maps.Clone(p.Excepted), maps.Clone(p.Reached), p.Errors.Add(checker.Errors{})
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
	for _, p := range e.parts {
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
		all.Errors = all.Errors.Add(p.Errors)
	}
	return all
}

func (e *exploration) result() (Result, error) {
	sum := e.sum()
	r := Result{Exploration: explored.Exploration{
		Schema: explored.ExploreSchema, Lock: e.cfg.Program.Lock, Verdict: checker.Pass, Schedules: sum.Schedules, Exhausted: sum.Exhausted,
		Strategy: e.cfg.Strategy, Bounds: explored.Bounds(e.cfg.Bounds), Seconds: time.Since(e.started).Seconds(), Virtual: sum.Virtual.Seconds(),
		States: sum.States, Unhashed: sum.Unhashed, Steps: sum.Steps, Violated: sum.Violated, Excepted: sum.Excepted, Warnings: e.warnings,
	}}
	if e.cfg.Shard.Count > 1 {
		r.Shard = fmt.Sprintf("%d/%d", e.cfg.Shard.Index, e.cfg.Shard.Count)
	}
	if r.Reason = e.short(sum); r.Reason != "" {
		r.Verdict = checker.Inconclusive
	}
	if sum.Unexplorable != "" || sum.Lacking != "" {
		r.NotExplorable = r.Reason
	}
	if sum.Lacking != "" && e.first != nil {
		r.Warnings = append(r.Warnings, sim.Without(e.cfg.Program.Lock, sum.Lacking))
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

// short returns why a search that found nothing shows less than requested; "" if it found
// something, or shows what was requested.
func (e *exploration) short(sum progress) string {
	elapsed, share := time.Since(e.started), e.cfg.Shard.of(e.cfg.Schedules)
	const grants = toJudge + string(verdicts.MutualExclusion)
	met, could := sum.Reached[grants]
	switch {
	case e.first != nil:
		return ""
	case sum.Unexplorable != "":
		return firstLines(sum.Unexplorable, 1)
	case sum.Lacking != "":
		return sim.Without(e.cfg.Program.Lock, sum.Lacking)
	case sum.Errors.Reason() != "":
		return sum.Errors.Reason()
	case could && met == 0 && e.cfg.Program.Clients > 1 && sum.Why == "":
		return "nobody met: no client was granted the lock after another"
	case sum.Exhausted:
		return ""
	case sum.Schedules == 0 && (e.cfg.Schedules == 0 || share > 0):
		return "no schedule was run"
	case e.cfg.Schedules > 0 && sum.Schedules < share:
		return fmt.Sprintf("the search ended after %d of %d schedules", sum.Schedules, share)
	case e.cfg.Schedules == 0 && elapsed < e.cfg.Budget:
		return cmp.Or(sum.Why, fmt.Sprintf("the search ended after %v of %v", elapsed.Round(time.Millisecond), e.cfg.Budget))
	case e.cfg.Schedules == 0 && e.cfg.Budget == 0 && e.cfg.Strategy == Exhaustive:
		return cmp.Or(sum.Why, "the search ended before all schedules were run")
	}
	return ""
}

func firstLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
