package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/workloads"
)

// Config describes a bench. The zero value of an optional field means what its comment says.
type Config struct {
	Locks       []impls.Variant
	Subject     subject.Fleet // with a command: the last of Locks runs in other processes
	Reference   string        // the name of a lock, or "" for the bare command loop, which is then measured too
	Clients     []int
	Keys        []int
	Holds       []time.Duration
	Rates       []float64      // holds per second; none: closed loop
	Pace        workloads.Pace // of rates
	Find        *results.Gate  // if set, search for the highest rate that keeps it
	Duration    time.Duration  // measured, of each lock in each setting, over all repetitions
	WarmUp      time.Duration  // not measured, likewise
	Repetitions int
	Lease       time.Duration
	Poll        time.Duration // between attempts of waiters that poll; 0: ten milliseconds
	Crash       bool          // also measure how soon the lock is granted after its holder crashed
	Greedy      bool          // a client that released may acquire again at once
	Scenario    string
	Shard       *results.Shard // of the settings; nil: all
	Faults      []faults.Spec  // of every turn; with one, clients acquire again at once
	Topology    impls.Topology
	Seed        uint64

	Provider    servers.Provider
	Environment results.Environment
	Random      io.Reader
	Now         func() time.Time
	Rerun       string
	// Runner makes one run; nil means harness.Run.
	Runner func(context.Context, harness.Experiment) (*harness.Outcome, error)
	// Stop, when closed, ends the bench after the current turn. What was measured is kept.
	Stop <-chan struct{}
	// Enough, when set, reports after all repetitions whether the measurement is sufficient. If
	// not, the repetitions are run again, twice at most.
	Enough func(results.Bench) bool
	// Progress, when set, is called before every turn, from one goroutine.
	Progress func(Progress)
	// Failed, when set, is called from one goroutine when a turn could not be run.
	Failed func(lock string, err error)
}

// Progress is the state of a bench under way.
type Progress struct {
	Turn, Turns int // of all; Turn from 1
	Lock        string
	Setting     results.BenchSetting
	Repetition  int
	Elapsed     time.Duration
	Left        time.Duration // approximate
	Last        string        // result of the previous turn: lock, and holds per second
	Unsafe      int           // turns that violated a property
}

// measure and warmUp return the times of one repetition.
func (c Config) measure() time.Duration { return c.Duration / time.Duration(c.Repetitions) }
func (c Config) warmUp() time.Duration  { return c.WarmUp / time.Duration(c.Repetitions) }

// Parameters of crashes: the lease of the lock that the dead client leaves; the holder dies in a
// fifth of it.
const (
	crashLease  = 2 * time.Second
	crashClient = faults.CrashClient
	leastCrowd  = 2 // another client must wait for the dead holder's lock
)

// acquireWait is how long a client waits for the lock before it counts an error and tries again.
const acquireWait = 10 * time.Second

// Run runs every turn. It returns an error if nothing could be measured; a turn that could not be
// run is a note in its cell. When ctx ends, the measurements so far are lost; when Stop is closed,
// they are kept.
func Run(ctx context.Context, c Config) (results.Bench, error) {
	if c.Runner == nil {
		c.Runner = harness.Run
	}
	if c.Reference == "" {
		c.Reference, c.Locks = bareName, append([]impls.Variant{bareVariant()}, c.Locks...)
	}
	b := &bench{Config: c, servers: &reused{Provider: c.Provider}, begun: c.Now()}
	err := b.all(ctx)
	if err == nil && len(b.taken) > 0 && !slices.ContainsFunc(b.taken, func(t taken) bool { return t.Err == nil }) {
		err = b.taken[0].Err // no turn could be run
	}
	out := b.result()
	return out, errors.Join(err, b.servers.end())
}

type bench struct {
	Config
	servers  *reused
	begun    time.Time
	taken    []taken
	knees    []results.Knee
	trips    []float64 // round trips, by turn, in nanoseconds
	pipes    []int64   // the longest round trip to a child, by its turns, in nanoseconds
	nodes    []history.Server
	turn, of int
	last     string
	unsafe   int
	stopped  bool
}

func (b *bench) all(ctx context.Context) error {
	settings := b.settings()
	if b.Find != nil {
		return b.findAll(ctx, settings)
	}
	turns := slices.DeleteFunc(planTurns(b.Seed, mostRounds*b.Repetitions, len(b.Locks), settings), func(t turn) bool {
		// its waiters queue in this process, where a crash does not admit the next
		return t.Setting.Crash && b.Locks[t.Lock].Name == bareName
	})
	of := len(turns) / mostRounds
	first := b.Config
	for round := 1; ; round++ {
		b.of = round * of
		for _, t := range turns[b.of-of : b.of] {
			if b.over(ctx) {
				break
			}
			if b.hopeless(t) {
				continue
			}
			taken := b.take(ctx, t)
			if errors.Is(taken.Err, context.Canceled) && b.over(ctx) {
				break // the turn that was under way when the bench was stopped
			}
			if taken.Err != nil && b.Failed != nil {
				b.Failed(b.Locks[t.Lock].Name, taken.Err)
			}
			b.taken = append(b.taken, taken)
		}
		if b.over(ctx) || round == mostRounds || b.Enough == nil || b.Enough(b.result()) {
			return ctx.Err()
		}
		b.Repetitions, b.Duration, b.WarmUp = b.Repetitions+first.Repetitions, b.Duration+first.Duration, b.WarmUp+first.WarmUp
	}
}

// mostRounds is how often all repetitions are run at most.
const mostRounds = 3

// turnGrace is for how long the turn that is under way goes on after Stop was closed.
const turnGrace = 2 * time.Second

// over reports whether no further turn should run.
func (b *bench) over(ctx context.Context) bool {
	select {
	case <-b.Stop:
		b.stopped = true
	default:
	}
	return b.stopped || ctx.Err() != nil
}

// hopeless reports whether the lock could not be run, or was never granted, in an earlier
// repetition of this setting.
func (b *bench) hopeless(t turn) bool {
	for _, done := range b.taken {
		if done.Lock == t.Lock && done.Setting == t.Setting && (done.Err != nil || done.Figures["throughput"].Count == 0) {
			return true
		}
	}
	return false
}

func (b *bench) take(ctx context.Context, t turn) taken {
	b.turn++
	v := b.Locks[t.Lock]
	b.progress(t, v.Name)
	out := taken{turn: t}
	if v.Name == bareName {
		v = bareVariant()
	}
	e := b.experiment(v, t)
	var s slice
	e.Measure = b.meter(ctx, &s)
	running, ended := harness.Grace(ctx, b.Stop, turnGrace)
	o, err := b.Runner(running, e)
	ended()
	if err != nil || o == nil || o.Verdict == nil {
		out.Err = errors.Join(err, b.servers.end()) // whatever state the servers are in
		if out.Err == nil {
			out.Err = errors.New("the run has no verdict")
		}
		return out
	}
	if b.nodes == nil {
		b.nodes = o.Run.Nodes
	}
	s.Setting, s.Ops, s.Commands, s.Windows, s.Open = t.Setting, o.Record.Ops, o.Record.Commands, o.Windows, e.OpenLoop()
	s.From, s.To = int64(o.Result.Load.WarmUp), int64(o.Result.Load.WarmUp+o.Result.Load.Duration)
	if k := b.servers.current(); k != nil {
		s.RoundTrip = k.roundTrip(ctx)
	}
	b.trips = append(b.trips, float64(s.RoundTrip))
	if b.isChild(t.Lock) {
		b.pipes = append(b.pipes, o.Record.Header.ClockError)
	}
	out.Shape = shapeOf(s)
	out.Figures, out.Verdict, out.Errors = measureSlice(s), o.Verdict, results.CountErrors(s.Ops)
	if o.Verdict.Verdict == checker.Fail {
		b.unsafe++
	}
	b.last = fmt.Sprintf("%s %.0f/s", v.Name, float64(out.Figures["throughput"].Count)/(float64(s.To-s.From)/1e9))
	return out
}

func (b *bench) experiment(v impls.Variant, t turn) harness.Experiment {
	s := scenarios.Scenario{
		Name: "bench", About: "one turn of a bench", Workload: b.workload(t.Setting), Clients: t.Setting.Clients, Keys: t.Setting.Keys,
		Length: faults.Span{Fixed: b.measure()}, WarmUp: faults.Span{Fixed: b.warmUp()}, Lease: faults.Span{Fixed: b.Lease},
		Think: faults.Span{Fixed: t.Setting.Hold}, Wait: faults.Span{Fixed: acquireWait}, Poll: faults.Span{Fixed: b.Poll}, Rate: t.Setting.Rate,
		Topology: b.Topology, Faults: b.Faults,
	}
	if t.Setting.Rate > 0 && !t.Setting.Crash {
		s.Pace = b.Pace
	}
	if t.Setting.Crash {
		s.Lease, s.Length, s.WarmUp = faults.Span{Fixed: crashLease}, faults.Span{Fixed: 2 * crashLease}, faults.Span{}
		s.Faults = []faults.Spec{{Fault: crashClient, Client: 1, When: faults.Trigger{Moment: string(history.Entered), Nth: crashAt}}}
	}
	seed := b.Seed + uint64(t.Repetition)
	e := harness.Experiment{Variant: v, Scenario: s.Resolve(seed, v.Topology), Provider: b.servers, Seed: seed, Bare: true,
		Argv: []string{"lockbench", "bench"}, Now: b.Now, Random: b.Random, Environment: &b.Environment}
	if b.isChild(t.Lock) {
		e.Subject = b.Subject
	}
	return e
}

// isChild reports whether a lock, by its index, is the one in other processes.
func (b *bench) isChild(lock int) bool { return b.Subject.Exec != "" && lock == len(b.Locks)-1 }

// crashAt is the number of the hold in which the client dies: its second, so that all clients are
// connected.
const crashAt = 2

// workload returns the workload whose releases are all hand-overs if clients compete for one key in
// a closed loop, and otherwise plain rounds.
func (b *bench) workload(s results.BenchSetting) string {
	if s.Keys == 1 && s.Rate == 0 && !s.Crash && !b.Greedy && len(b.Faults) == 0 {
		return "handoff"
	}
	return "hot"
}

// meter returns what the harness calls when the measured time begins and when it ends: it fills in
// the processor times and the bytes between.
func (b *bench) meter(ctx context.Context, s *slice) func(over bool) {
	var client, server time.Duration
	var bytes int64
	s.ServerCPU = -1
	return func(over bool) {
		k := b.servers.current()
		if k == nil {
			return
		}
		clientNow, bytesNow, serverNow := subprocess.UsedCPU(), b.servers.bytes.Load(), k.cpu(ctx)
		if over {
			s.ClientCPU, s.Bytes = clientNow-client, bytesNow-bytes
		}
		if over && server >= 0 && serverNow >= 0 {
			s.ServerCPU = serverNow - server
		}
		client, bytes, server = clientNow, bytesNow, serverNow
	}
}

func (b *bench) progress(t turn, lock string) {
	if b.Progress == nil {
		return
	}
	p := Progress{Turn: b.turn, Turns: b.of, Lock: lock, Setting: t.Setting, Repetition: t.Repetition, Elapsed: b.Now().Sub(b.begun), Last: b.last, Unsafe: b.unsafe}
	p.Left = max(b.Estimate()-p.Elapsed, 0)
	if b.turn > b.of/10+1 {
		p.Left = time.Duration(float64(p.Elapsed) / float64(b.turn-1) * float64(b.of-b.turn+1))
	}
	b.Progress(p)
}

// emptyNotes names the cells in whose time no hold was granted, for which the bench is
// inconclusive.
func emptyNotes(cells []results.BenchCell) (notes []string) {
	for _, c := range cells {
		if c.Empty() {
			notes = append(notes, fmt.Sprintf("no hold of %s × %s was measured: make --duration longer", c.Lock, c.Setting))
		}
	}
	return notes
}

func (b *bench) result() results.Bench {
	names := make([]string, len(b.Locks))
	for i, v := range b.Locks {
		names[i] = v.Name
	}
	settings := b.settings()
	out := results.Bench{Server: b.Provider.Name(), Seed: b.Seed, Start: b.begun.UTC(), Duration: b.Now().Sub(b.begun), Environment: b.Environment, Nodes: b.nodes,
		Knees: b.knees, Shard: b.shard(), Interrupted: b.stopped, Rerun: b.Rerun,
		Plan: results.BenchPlan{Locks: names, Reference: b.Reference, Settings: settings, Repetitions: b.Repetitions,
			Measure: b.measure(), WarmUp: b.warmUp(), Lease: b.Lease, Relay: b.workload(results.BenchSetting{Keys: 1}) == "handoff", Scenario: b.Scenario, Pace: string(b.Pace)}}
	out.RoundTrip = results.Figure{Unit: results.Nanoseconds, Samples: int64(len(b.trips) * pings)}
	out.RoundTrip.Value, out.RoundTrip.Low, out.RoundTrip.High = summary(b.trips)
	out.Cells = aggregate(b.taken, names, out.Plan)
	if s := out.Shard; s != nil && len(settings) == 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("shard %s has no setting: the plan has %d", s, s.Of))
	}
	inForce := func(c results.BenchCell) bool { _, injected := c.Figures["fault.throughput"]; return injected }
	if len(b.Faults) > 0 && !slices.ContainsFunc(out.Cells, inForce) {
		out.Notes = append(out.Notes, fmt.Sprintf("no fault of %s was in force in the measured time", b.Scenario))
	}
	out.Notes = append(out.Notes, emptyNotes(out.Cells)...)
	if b.stopped {
		out.Notes = append(out.Notes, fmt.Sprintf("interrupted after %d of %d turns", b.turn, b.of))
	}
	if len(b.pipes) > 0 {
		slices.Sort(b.pipes)
		out.Notes = append(out.Notes, fmt.Sprintf("%s is another process: each of its calls crosses a pipe, whose round trip is %v (the longest of a turn, in the median turn), "+
			"and its commands cross a proxy; both are in its figures, and the processor time of that process is not", names[len(names)-1], time.Duration(b.pipes[len(b.pipes)/2]).Round(time.Microsecond)))
	}
	if b.Repetitions < leastForInterval {
		out.Notes = append(out.Notes, fmt.Sprintf("no intervals and no comparison: %d repetitions are needed, there were %d", leastForInterval, b.Repetitions))
	}
	out.Judge()
	return out
}
