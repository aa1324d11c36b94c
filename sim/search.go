package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

type finding struct {
	Schedule int    `json:"schedule"`
	Broken   broken `json:"broken"`
	Tape     Tape   `json:"tape"`
}

type progress struct {
	Schedules    int            `json:"schedules"`
	Steps        int            `json:"steps"`
	States       int            `json:"states"`
	Pruned       int            `json:"pruned"`
	Virtual      time.Duration  `json:"virtual"`
	Violated     map[string]int `json:"violated,omitempty"` // number of schedules by violation, "property/cause"
	Excepted     map[string]int `json:"excepted,omitempty"` // the same, of those that no lease can prevent
	Exhausted    bool           `json:"exhausted,omitempty"`
	Unhashed     int            `json:"unhashed,omitempty"`     // states of a walk that could not be pruned: a connection watched keys
	Lacking      string         `json:"lacking,omitempty"`      // what the lock requested and did without
	Unexplorable string         `json:"unexplorable,omitempty"` // why the lock cannot be explored, which ended the search
	Why          string         `json:"why,omitempty"`          // why a walk that ended has not covered everything
}

// search runs the schedules of a job in this process, one after the other.
type search struct {
	job    searchJob
	host   runner
	length int // number of steps of the default schedule
	walk   *exhaust
	judge  func(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error)
	causes explainer
	only   func(broken) bool // selects the findings

	progress progress
	findings int
	begin    func(n int, prefix []int) // called before each schedule
	found    func(finding)             // called with each finding
	every    func(progress)            // called with the progress, after each schedule
}

func newSearch(j searchJob, h runner) (*search, error) {
	p, err := j.Program.resolve(h.catalogue())
	if err != nil {
		return nil, err
	}
	j.Program = p
	j.Bounds = j.Bounds.withDefaults(p)
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &search{job: j, host: h, only: j.seeks, begin: func(int, []int) {}, found: func(finding) {}, every: func(progress) {}}
	s.judge = s.causes.judge
	s.progress.Violated, s.progress.Excepted = map[string]int{}, map[string]int{}
	if j.Strategy == Exhaustive {
		s.job.Bounds.Instant = true
		s.walk = newExhaust(j.Part, j.Parts, j.Prefix)
	}
	return s, nil
}

// run searches until the job is done, a finding ends it, or ctx ends.
func (s *search) run(ctx context.Context) error {
	defer s.causes.close()
	if s.walk == nil {
		out, err := s.host.run(s.job.Program, byDefault{}, Bounds{}, false)
		if err != nil {
			return err
		}
		if s.length = out.Steps; s.unexplorable(out) {
			return nil // a mutex of the process may stay locked: what follows would look like a deadlock
		}
	}
	for n := s.job.First; s.job.Schedules == 0 || n < s.job.First+s.job.Schedules; n += max(s.job.Parts, 1) {
		if ctx.Err() != nil {
			return nil
		}
		if s.walk != nil && !s.walk.next() {
			if s.walk.broken {
				s.progress.Why = notDeterministic
			}
			s.progress.Exhausted = s.progress.Why == ""
			return nil
		}
		done, err := s.one(ctx, n)
		if err != nil || done {
			return err
		}
	}
	return nil
}

// one runs and judges one schedule; it returns true if that ends the search.
func (s *search) one(ctx context.Context, n int) (done bool, err error) {
	c := schedule{s.job.Program, s.job.Bounds, s.walk}
	if s.walk == nil {
		s.begin(n, nil)
		c = s.job.settle(n, s.length)
	} else {
		s.begin(n, s.walk.prefix())
	}
	out, err := s.host.run(c.program, c.strategy, c.bounds, false)
	if err != nil {
		return true, err
	}
	s.count(out)
	if s.unexplorable(out) {
		return true, nil
	}
	if out.Pruned {
		s.every(s.progress)
		return false, nil
	}
	all, err := s.judge(context.WithoutCancel(ctx), out, c.program, false)
	if err != nil {
		return true, err
	}
	if done, err = s.note(ctx, n, c, out, all); err == nil && s.walk != nil && n/max(s.job.Parts, 1)%againEvery == 0 {
		err = s.again(c, out)
	}
	s.every(s.progress)
	return done, err
}

// againEvery is how many schedules of a walk come to one that is run a second time.
const againEvery = 8

// again runs the walk's current schedule a second time. If it does not end as before, the walk cannot have covered everything: what a lock's goroutines
// do at one instant is not a decision of the walk, and may be the runtime's, such as which of two ready cases a select takes.
func (s *search) again(c schedule, before Outcome) error {
	c.strategy = newExhaust(s.job.Part, s.job.Parts, s.walk.prefix())
	out, err := s.host.run(c.program, c.strategy, c.bounds, false)
	if err == nil && out.Hash != before.Hash {
		s.progress.Why = notDeterministic
	}
	return err
}

// notDeterministic says why a walk has not covered everything.
const notDeterministic = "the same choices did not always lead to the same: the program is not deterministic"

// unexplorable reports whether an outcome says that the lock cannot be explored, which ends the search, and records why.
func (s *search) unexplorable(out Outcome) bool {
	if out.Unexplorable {
		s.progress.Unexplorable = "not explorable: " + out.Crash
	}
	return out.Unexplorable
}

func (s *search) count(out Outcome) {
	s.progress.Schedules++
	s.progress.Steps += out.Steps
	s.progress.Virtual += out.Virtual
	s.progress.Lacking = cmp.Or(s.progress.Lacking, out.Lacking)
	if s.walk != nil {
		s.progress.States, s.progress.Pruned, s.progress.Unhashed = len(s.walk.seen), s.walk.pruned, s.walk.unknown
		if out.Steps > s.job.Bounds.MaxSteps {
			s.progress.Why = fmt.Sprintf("a schedule has more than %d events, behind which one order was run", s.job.Bounds.MaxSteps)
		}
	}
}

func (s *search) note(ctx context.Context, n int, c schedule, out Outcome, all []broken) (done bool, err error) {
	seen := map[string]bool{}
	for _, b := range all {
		if seen[b.key()] {
			continue
		}
		seen[b.key()] = true
		if b.Excepted {
			s.progress.Excepted[b.key()]++
		} else {
			s.progress.Violated[b.key()]++
		}
	}
	i := strongest(all, s.only)
	if i < 0 {
		return false, nil
	}
	s.findings++
	if s.findings > maxFindings {
		return false, nil
	}
	b := all[i]
	told, err := s.judge(context.WithoutCancel(ctx), out, c.program, true) // again, for the story
	if x, ok := withKey(told, b.key()); ok {
		b = x
	}
	s.found(finding{n, b, newTape(c, out, b)})
	return !s.job.All, err
}

// strongest returns the index of the first finding that blames the lock itself, or else of the first; -1 if there is none. Two clients inside at
// once may be the result of a stall that no lock prevents, in a schedule that shows a bug of the lock later.
func strongest(all []broken, only func(broken) bool) int {
	blames := func(b broken) bool {
		return only(b) && b.Property != verdicts.ExclusiveUse && b.Property != verdicts.StoreIntegrity
	}
	if i := slices.IndexFunc(all, blames); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, only)
}

const maxFindings = 20

func newTape(c schedule, out Outcome, b broken) Tape {
	return Tape{
		Schema: tapeSchema, Program: c.program, Bounds: c.bounds, Commands: out.commandNames(), Choices: out.choices(), Hash: hashText(out.Hash),
		Property: b.Property, Cause: b.Cause, Steps: b.Story, Schedule: out.Schedule,
	}
}

func hashText(h uint64) string { return strconv.FormatUint(h, 16) }

// Strategies by name.
const (
	Exhaustive = explored.Exhaustive // every schedule within the bounds
	Random     = "random"            // uniform choices
	PCT        = "pct"               // priorities with a few changes
	Mixed      = "mixed"             // random and PCT alternately
)

type searchJob struct {
	Program   Program  `json:"program"`
	Bounds    Bounds   `json:"bounds"`
	Strategy  string   `json:"strategy"`
	Seed      uint64   `json:"seed"`
	Part      int      `json:"part"`  // this worker's number, from 0
	Parts     int      `json:"parts"` // number of workers
	Schedules int      `json:"schedules,omitempty"`
	First     int      `json:"first,omitempty"`  // number of the first schedule; later ones are Parts apart
	Prefix    []int    `json:"prefix,omitempty"` // of an exhaustive schedule to repeat
	Echo      bool     `json:"echo,omitempty"`   // report every choice as it is made, to get the tape of a schedule that kills its process
	All       bool     `json:"all,omitempty"`    // go on after a finding
	Seek      []string `json:"seek,omitempty"`   // the only findings: "property" or "property/cause"
}

func (j searchJob) seeks(b broken) bool {
	if b.Excepted {
		return false
	}
	return len(j.Seek) == 0 || slices.Contains(j.Seek, b.key()) || slices.Contains(j.Seek, string(b.Property))
}

// schedule is one schedule of a job, determined by the job's seed and its number.
type schedule struct {
	program  Program
	bounds   Bounds
	strategy chooser
}

// settle returns schedule n of a job of random or PCT schedules. length is the number of steps that the program takes by default.
func (j searchJob) settle(n, length int) schedule {
	seed := j.Seed<<20 + uint64(n)
	r := rand.New(rand.NewPCG(seed, 4))
	p, b := j.Program, j.Bounds
	p.Seed = seed
	p, b = drawVariation(p, b, r)
	if j.Strategy == PCT || (j.Strategy != Random && n%2 == 1) {
		return schedule{p, b, newPCT(seed, b, p.Clients, length)}
	}
	return schedule{p, b, newRandom(seed, b, length)}
}

// Placeable lists the faults that a search can place, by name.
func Placeable() []string {
	return slices.Sorted(slices.Values(faults.Names(func(k faults.Kind) bool { return k.Placed != faults.NotPlaced })))
}

// IsStanding reports whether a fault is in force from the start of a run. A random or PCT search draws it in advance; an exhaustive one cannot.
func IsStanding(fault string) bool {
	kind, _ := faults.FindKind(fault)
	return kind.Placed == faults.BeforeSearch
}

// drawVariation draws the workload of a schedule, and its standing faults, which count towards the number of faults allowed.
func drawVariation(p Program, b Bounds, r *rand.Rand) (Program, Bounds) {
	p = drawPacing(drawWorkload(p, r), r)
	var injected []string
	for _, f := range b.Faults {
		if !IsStanding(f) {
			injected = append(injected, f)
			continue
		}
		if b.MaxFaults > 0 && r.IntN(2) == 0 {
			p.Faults = append(slices.Clone(p.Faults), standingFault(f, p, r))
			b.MaxFaults--
		}
	}
	b.Faults = injected
	return p, b
}

// drawWorkload draws one of a program's workloads uniformly.
func drawWorkload(p Program, r *rand.Rand) Program {
	also := p.Also
	p.Also = nil
	if len(also) == 0 {
		return p
	}
	if i := r.IntN(len(also) + 1); i < len(also) {
		if w, ok := workloads.Find(also[i]); ok {
			p.Load, p.Workload = also[i], w
		}
	}
	return p
}

// drawPacing draws how the clients of a schedule pace their rounds. See Program.Hasty and Program.Rests.
func drawPacing(p Program, r *rand.Rand) Program {
	if p.Hasty && r.IntN(3) == 0 {
		p.Config.AcquireWait, p.Config.Pause = 0, 2*p.Config.Lease/3
		p.Config.Ops *= 2
	}
	if p.Rests && r.IntN(3) == 0 {
		p.Config.Pause = 5 * p.Config.Lease
	}
	p.Hasty, p.Rests = false, false
	return p
}

func standingFault(fault string, p Program, r *rand.Rand) faults.Spec {
	s := faults.Spec{Fault: fault, Client: 1 + r.IntN(p.Clients)}
	switch fault {
	case faults.SkewClient:
		s.By = faults.Span{Leases: 2, Fixed: 2 * time.Second}
		if r.IntN(2) == 0 {
			s.By = faults.Span{Leases: -2, Fixed: -2 * time.Second}
		}
	case faults.SlowWork:
		s.Client, s.For = 1, faults.Span{Leases: 1.5}
	case faults.CollideOwners:
		s.Client = 0
	}
	return s
}

// DefaultFaults returns the faults that a lock with these traits must survive: any fault of its clients and messages, and of a minority of its
// nodes or the primary of a pair. Faults that no such lock survives, such as the loss of a single server's data, must be requested.
func DefaultFaults(v impls.Variant) []string {
	out := []string{
		faults.PauseClient, faults.CrashClient, faults.CancelClient, faults.LoseRequest, faults.LoseReply,
		faults.DelayRequest, faults.DelayReply, faults.SlowWork, faults.FlushScripts,
	}
	if v.Traits.ClientClock {
		out = append(out, faults.SkewClient)
	}
	if v.Traits.LocalOwner {
		out = append(out, faults.CollideOwners)
	}
	if v.Topology == impls.Independent {
		out = append(out, faults.PartitionNodes)
	}
	if v.Traits.Wakeups {
		out = append(out, faults.CutPubSub)
	}
	if v.Topology == impls.Replicated { // a lock that uses a pair must survive the loss of its primary
		out = append(out, faults.Failover)
	}
	return out
}

func (j searchJob) check() error {
	for _, name := range j.Program.Also {
		if _, ok := workloads.Find(name); !ok {
			return fmt.Errorf("explore: no workload is called %q", name)
		}
	}
	switch j.Strategy {
	case Exhaustive, Random, PCT, Mixed:
	default:
		return fmt.Errorf("explore: no strategy is called %q; there are %s, %s, %s and %s", j.Strategy, Exhaustive, Random, PCT, Mixed)
	}
	for _, f := range j.Bounds.Faults {
		switch kind, _ := faults.FindKind(f); {
		case kind.Placed == faults.NotPlaced:
			return fmt.Errorf("explore: a search cannot place %q; it can place %v", f, Placeable())
		case kind.Placed == faults.BeforeSearch && j.Strategy == Exhaustive:
			return fmt.Errorf("explore: an exhaustive search cannot place %q, which is there from the start", f)
		}
	}
	return nil
}

// ExploreConfig configures a search through the schedules of a program.
type ExploreConfig struct {
	Program   Program
	Bounds    Bounds
	Strategy  string        // "" means Mixed
	Seed      uint64        // of the search
	Schedules int           // at most; 0 means no limit
	Budget    time.Duration // of real time; 0 means no limit. Without limits a random search that finds nothing runs until its context ends
	Workers   int           // processes; 0 means one per core
	Shard     Shard         // one of several searches, on different machines, that divide the schedules; zero: the only one
	All       bool          // go on after a finding, to count
	Seek      []string      // "property" or "property/cause": other violations are counted but are no findings; nil means all are
	// Silence is how long a worker may send nothing before it counts as being in an endless loop; 0 means five seconds.
	Silence time.Duration
	// Command starts a worker; nil means this program again, which must call WorkerMain when IsWorker says so.
	Command []string
	// Env is appended to a worker's environment.
	Env []string
	// Known finds the variant in this process; nil for a program that carries it. A worker has its own; see WorkerMain.
	Known Catalogue
}

// Shard is one of Count searches with the same settings and seed that divide the schedules. Index counts from 1.
type Shard struct{ Index, Count int }

// of returns how many of the first n schedules belong to the shard: every Count-th, beginning with number Index-1.
func (s Shard) of(n int) int { return (n - s.Index + s.Count) / s.Count }

// Stats is the progress of an exploration.
type Stats struct {
	Schedules int
	Steps     int
	States    int // distinct states, in an exhaustive search
	Virtual   time.Duration
	Elapsed   time.Duration
	Findings  int
}

// ExploreResult is the result of an exploration: what is saved of it, and the tape of its finding.
type ExploreResult struct {
	explored.Exploration
	Tape Tape // of First
}

// Keep stores a tape as the finding's.
func (r *ExploreResult) Keep(t Tape) {
	r.Tape, r.First.Steps, r.First.Clients, r.First.Ops = t, t.Steps, t.Program.Clients, t.Program.Config.Ops
}

// Explore searches with worker processes until the bounds are exhausted, there is a finding, the limits are reached or ctx ends. The end of ctx is
// no error: the result is what was found by then. progress, which may be nil, is called from one goroutine.
func Explore(ctx context.Context, cfg ExploreConfig, progress func(Stats)) (ExploreResult, error) {
	e, err := newExploration(cfg, progress)
	if err != nil {
		return ExploreResult{}, err
	}
	return e.search(ctx, e.drive)
}

// search searches in all workers, each by do, within the time allowed.
func (e *exploration) search(ctx context.Context, do func(ctx context.Context, worker int)) (ExploreResult, error) {
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
	cfg     ExploreConfig
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

func newExploration(cfg ExploreConfig, report func(Stats)) (*exploration, error) {
	cfg.Known = cmp.Or[Catalogue](cfg.Known, empty{})
	p, err := cfg.Program.resolve(cfg.Known)
	if err != nil {
		return nil, err
	}
	workers, shard := cmp.Or(cfg.Workers, runtime.NumCPU()), cmp.Or(cfg.Shard, Shard{Index: 1, Count: 1})
	if report == nil {
		report = func(Stats) {}
	}
	j := searchJob{Program: p, Bounds: cfg.Bounds.withDefaults(p), Strategy: cmp.Or(cfg.Strategy, Mixed), Seed: cfg.Seed, Parts: workers * shard.Count, All: cfg.All, Seek: cfg.Seek,
		Schedules: cfg.Schedules}
	j.Bounds.Instant = j.Bounds.Instant || j.Strategy == Exhaustive
	return &exploration{cfg: cfg, job: j, workers: workers, shard: shard, started: time.Now(), report: report, parts: make([]progress, workers),
		at: slices.Repeat([]int{-1}, workers)}, j.check()
}

// begins returns a worker's number among those of all shards, and that of its first schedule. A shard has every Count-th, whatever its workers.
func (e *exploration) begins(worker int) int { return e.shard.Index - 1 + e.shard.Count*worker }

// worker is the inverse of begins.
func (e *exploration) worker(part int) int { return part / e.shard.Count }

// jobOf returns a worker's part of the search, from its schedule first on; some is false if none is left.
func (e *exploration) jobOf(worker, first int) (j searchJob, some bool) {
	j = e.job
	j.Part, j.First = e.begins(worker), first
	if j.Schedules > 0 {
		j.Schedules -= first
		return j, j.Schedules > 0
	}
	return j, true
}

// drive runs one worker, and another if it fell silent in a schedule that does end: a slow machine is no finding.
func (e *exploration) drive(ctx context.Context, part int) {
	for first := e.begins(part); ; {
		j, some := e.jobOf(part, first)
		if !some {
			return
		}
		died, err := e.runWorker(ctx, j)
		if err != nil {
			e.fail(err)
		}
		if died == nil {
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

// resume returns the schedule with which a worker's successor begins: the one under way, or the first if a walk has lost the states that it saw.
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

// stopBehindFirst ends a search once every worker is past its finding: the same seed reports the same one. A walk's numbers do not order its schedules.
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
	e.parts[part] = p
	if p.Unexplorable != "" {
		e.cancel()
	}
	sum := e.sum()
	e.report(Stats{Schedules: sum.Schedules, Steps: sum.Steps, States: sum.States, Virtual: sum.Virtual,
		Elapsed: time.Since(e.started), Findings: e.findings})
}

func (e *exploration) sum() progress {
	all := progress{Violated: map[string]int{}, Excepted: map[string]int{}, Exhausted: true}
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
	}
	return all
}

func (e *exploration) result() (ExploreResult, error) {
	sum := e.sum()
	r := ExploreResult{Exploration: explored.Exploration{
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
	if sum.Lacking != "" && e.first != nil {
		r.Warnings = append(r.Warnings, Without(e.job.Program.Lock, sum.Lacking))
	}
	if sum.Unexplorable != "" {
		r.Warnings = append(r.Warnings, firstLines(sum.Unexplorable, 12))
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
	elapsed := time.Since(e.started)
	share := e.shard.of(e.job.Schedules)
	switch {
	case e.first != nil:
		return ""
	case sum.Unexplorable != "":
		return firstLines(sum.Unexplorable, 1)
	case sum.Lacking != "":
		return Without(e.job.Program.Lock, sum.Lacking)
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

// Without says that a lock did without something that it requested; see [Outcome.Lacking]. That is no evidence of how it behaves with it.
func Without(lock, lacking string) string {
	return lock + " asks for " + lacking + ", which the simulator does not have: it was run as it goes on without"
}

// Explore searches in this process, on one core: for tests of a lock that the test defines. A lock that crashes its process crashes the test.
func (s *Simulator) Explore(ctx context.Context, cfg ExploreConfig) (ExploreResult, error) {
	cfg.Known = s.host.known
	return exploreHere(ctx, cfg, []runner{s.host}, nil)
}

// exploreHere searches in this process, with a goroutine for each runner.
func exploreHere(ctx context.Context, cfg ExploreConfig, runners []runner, report func(Stats)) (ExploreResult, error) {
	cfg.Workers = len(runners)
	e, err := newExploration(cfg, report)
	if err != nil {
		return ExploreResult{}, err
	}
	return e.search(ctx, func(ctx context.Context, part int) {
		if err := e.here(ctx, part, runners[part]); err != nil {
			e.fail(err)
		}
	})
}

// here does one worker's part in this process.
func (e *exploration) here(ctx context.Context, part int, r runner) error {
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
