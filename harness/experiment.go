package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/workloads"
)

// ClientsAs says what a client is.
type ClientsAs string

// The kinds of client.
const (
	Goroutines ClientsAs = "goroutines"
	Processes  ClientsAs = "processes"
)

// The errors of this package, wrapped with what was being done.
var (
	// ErrUsage is returned if the experiment contradicts itself or names something that does not
	// exist.
	ErrUsage = errors.New("usage")
	// ErrNotApplicable is returned, before the run, if the scenario does not apply to the lock.
	ErrNotApplicable = errors.New("not applicable")
)

// Experiment describes one run. The zero value of an optional field means what its comment says.
type Experiment struct {
	Variant  impls.Variant
	Scenario scenarios.Scenario // resolved: all drawn choices and defaults are filled in
	Provider servers.Provider
	Chosen   string // why this provider was chosen, if automatically
	Seed     uint64
	// with a command, every client's lock is a child process, and Variant is what the child reports
	// of itself
	Subject  subject.Fleet
	As       ClientsAs // "" means Goroutines
	Base     string    // parent of the run directory; "" saves nothing
	Aside    bool      // a run beside the one that was asked for, such as a control: latest stays where it is
	Argv     []string  // for the record
	Rerun    string    // the command that runs it again
	Checkout string    // folder of the source checkout, for the record; "" means none
	// Environment describes the machine of the run. A caller that makes many runs reads it once,
	// because asking git takes longer than many simulated runs; nil means that the run reads it,
	// and looks at Checkout.
	Environment *results.Environment

	Now    func() time.Time // the wall clock, for names and records
	Random io.Reader        // for the run's name and, with Seed, nothing else
	// Schedule, when set, is replayed message by message on servers of the run's own; clients are
	// goroutines then.
	Schedule faults.Schedule
	// Stop, when closed, ends the run early: rounds under way are finished and what was recorded is
	// judged.
	Stop <-chan struct{}
	// Enough, when set, ends a simulated experiment once it returns true for the sum of the
	// schedules' verdicts.
	Enough func(checker.Verdict) bool
	// Progress, when set, is called from time to time while the clients run, from one goroutine.
	Progress func(Progress)
	// Measure, when set, is called when the warm-up ends and when the length ends, from one
	// goroutine: the caller can compare processor times.
	Measure func(over bool)
	// Bare reports that servers do not record what they execute, which costs them time: for
	// benchmarks.
	Bare bool
	// Prefix is the prefix of every key; "" means none on servers of the run's own, and a generated
	// one on a user's Redis.
	Prefix string
}

// Progress is how far a run has come.
type Progress struct {
	Phase    string // servers, clients, checking
	Elapsed  time.Duration
	Total    time.Duration // warm-up and length; 0 = until all rounds are done
	Rounds   int64         // acquires that were granted
	Refused  int64
	Failed   int64 // acquires that ended in an error
	Unknown  int64
	Overlaps int64  // uses that overlapped another client's, as recorded so far; the verdict is computed anew
	Faults   int    // windows so far
	Current  string // the faults in force that will end; "" for none
	Expected int64  // rounds in all; 0 = not known
	// P50 and P99 are latencies of the acquires granted so far, from their intended start, accurate
	// to an eighth; 0 = not measured.
	P50, P99 time.Duration
}

// maxProcesses is how many clients may be processes.
const maxProcesses = 128

// Validate returns the errors that can be found before anything is started.
func (e Experiment) Validate() error {
	if _, ok := workloads.Find(e.Scenario.Workload); !ok {
		return fmt.Errorf("workload %q: %w: no such workload", e.Scenario.Workload, ErrUsage)
	}
	if want := e.Variant.Expect[e.Scenario.Name]; want.NA != "" {
		return cmp.Or(e.slots(), fmt.Errorf("%s × %s: %w: %s", e.Variant.Name, e.Scenario.Name, ErrNotApplicable, want.NA))
	}
	if e.topology() == impls.Sentinel {
		if Simulates(e.Provider) {
			return fmt.Errorf("%s: %w: the simulator has no sentinels; --server process and docker have", e.Scenario.Name, ErrNotApplicable)
		}
		if e.Variant.Topology == impls.Independent {
			return fmt.Errorf("%s: %w: %s asks independent masters, and sentinels have one", e.Scenario.Name, ErrNotApplicable, e.Variant.Name)
		}
	}
	if err := e.validateSubject(); err != nil {
		return err
	}
	placed := e.Scenario
	placed.Topology = e.topology()
	for _, f := range e.faults() {
		kind, _ := faults.FindKind(f.Fault)
		if why := kind.Refusal(e.Provider.Guest(), placed.Topology); why != "" {
			return fmt.Errorf("%s of the scenario %s is %w on %s, %s: %s", f.Fault, placed.Name, servers.ErrRefused, e.Provider.Name(), placed.Topology, why)
		}
		// a scenario that leaves the topology to the lock may name a node that the lock does not have
		if most := placed.NodeCount(); f.Node > most {
			return fmt.Errorf("%s of %s on node %d: %w: %s, %s, has %d", f.Fault, placed.Name, f.Node, ErrUsage, e.Variant.Name, placed.Topology, most)
		}
	}
	if e.Scenario.Clients < 1 {
		return fmt.Errorf("clients %d: %w: at least 1", e.Scenario.Clients, ErrUsage)
	}
	if Simulates(e.Provider) && e.Scenario.Clients > sim.MaxClients {
		return fmt.Errorf("clients %d: %w: the simulator has at most %d", e.Scenario.Clients, ErrUsage, sim.MaxClients)
	}
	if e.As == Processes && e.Scenario.Clients > maxProcesses {
		return fmt.Errorf("clients %d: %w: at most %d as processes, each of which takes some 20 MiB", e.Scenario.Clients, ErrUsage, maxProcesses)
	}
	return e.slots()
}

// lease returns the lock's lease; 0 for a lock that has none.
func (e Experiment) lease() time.Duration { return e.Scenario.Lease.Of(0) }

func (e Experiment) config() workloads.Config {
	s, lease := e.Scenario, e.lease()
	return workloads.Config{
		Ops: s.Ops, Lease: lease, Think: s.Think.Of(lease), Pause: s.Pause.Of(lease), Keep: s.Keep.Of(lease),
		AcquireWait: s.Wait.Of(lease), Keys: s.Keys, Readers: s.Readers, Amounts: s.Amounts,
	}
}

// reachable is what the run has in store for the lock.
func (e Experiment) reachable() history.Prospect {
	lease := e.lease()
	p := history.Prospect{Waits: e.Scenario.Wait.Of(lease) > 0, Poll: int64(e.Scenario.Poll.Of(lease)), Extends: e.Variant.Traits.Extends, TellsLosses: e.Variant.Traits.NotifiesLoss}
	for _, f := range e.faults() {
		p.Faults = append(p.Faults, f.Fault)
	}
	return p
}

// OpenLoop returns the load of a scenario with a rate.
func (e Experiment) OpenLoop() workloads.OpenLoop {
	s, lease := e.Scenario, e.lease()
	return workloads.OpenLoop{Rate: s.Rate, Pace: s.Pace, Clients: s.Clients, Time: s.WarmUp.Of(lease) + s.Length.Of(lease), Seed: e.Seed}
}

func (e Experiment) faults() []faults.Spec {
	return slices.Concat(e.Scenario.Faults, e.Schedule.Faults())
}

// has reports whether a fault of the plan, or of the schedule, satisfies is.
func (e Experiment) has(is func(faults.Kind) bool) bool {
	return slices.ContainsFunc(e.faults(), func(f faults.Spec) bool {
		kind, _ := faults.FindKind(f.Fault)
		return is(kind)
	})
}

func does(what history.Does) func(faults.Kind) bool {
	return func(k faults.Kind) bool { return k.Does.Any(what) }
}
