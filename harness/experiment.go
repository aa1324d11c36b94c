package harness

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
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
	// ErrUsage: the experiment contradicts itself, or names something that does not exist.
	ErrUsage = errors.New("usage")
	// ErrNotApplicable: the scenario does not apply to the lock. It is found out before the run.
	ErrNotApplicable = errors.New("not applicable")
)

// Experiment is one run that is to be made. The zero value of an optional field means what its comment says.
type Experiment struct {
	Variant  impls.Variant
	Scenario scenarios.Scenario // resolved: every choice drawn, every default filled in
	PlanHash string
	Provider servers.Provider
	Chosen   string // why this provider, when it was picked by itself
	Seed     uint64
	As       ClientsAs         // "" means Goroutines
	Settings map[string]string // variant-specific
	Base     string            // folder under which the run directory is made; "" means nothing is saved
	Argv     []string          // for the record
	Rerun    string            // the command that runs it again
	Checkout string            // folder of the source checkout, for the record; "" means none
	// Environment is what the run is made on. Who makes many runs looks once, because asking git takes longer than many a
	// simulated run; nil means that the run looks for itself, and at Checkout.
	Environment *results.Environment

	Now    func() time.Time // the wall clock, for names and records
	Random io.Reader        // for the run's name and, with Seed, nothing else
	// Score, when set, is what the run is led through, message by message, on servers of its own; clients are goroutines then.
	Score faults.Score
	// Stop, when closed, ends the run early: rounds under way are finished and what was recorded is judged.
	Stop <-chan struct{}
	// Enough, when set, ends a simulated experiment as soon as it is content with what its schedules have shown together.
	Enough func(checker.Verdict) bool
	// Progress, when set, is called from time to time while the clients run, from one goroutine.
	Progress func(Progress)
	// Prefix is that of every key; "" means none on servers of the run's own, and one of the run's own on somebody's Redis.
	Prefix string
}

// Progress is how far a run has got.
type Progress struct {
	Phase    string // servers, clients, checking
	Elapsed  time.Duration
	Rounds   int64 // acquires that were granted
	Refused  int64
	Unknown  int64
	Faults   int    // windows so far
	Current  string // the fault in force; "" for none
	Expected int64  // rounds in all; 0 = not known
	// P50 and P99 are of the acquires granted so far, from their intended start, to within an eighth; 0 = not measured.
	P50, P99 time.Duration
}

// Validate finds what can be known to be wrong before anything is started.
func (e Experiment) Validate() error {
	if want := e.Variant.Expect[e.Scenario.Name]; want.NA != "" {
		return fmt.Errorf("%s × %s: %w: %s", e.Variant.Name, e.Scenario.Name, ErrNotApplicable, want.NA)
	}
	if _, ok := workloads.Find(e.Scenario.Workload); !ok {
		return fmt.Errorf("workload %q: %w: no such workload", e.Scenario.Workload, ErrUsage)
	}
	if e.Provider.Name() == "url" && e.has(faults.KillServer, faults.PauseServer, faults.Failover, faults.JumpClock, faults.DriftClock, faults.FlushScripts, faults.EvictKeys) {
		return fmt.Errorf("server faults of %s on somebody's Redis: %w; --server process or docker has servers of its own", e.Scenario.Name, servers.ErrRefused)
	}
	if e.Scenario.Clients < 1 {
		return fmt.Errorf("clients %d: %w: at least 1", e.Scenario.Clients, ErrUsage)
	}
	return nil
}

// lease is the lock's lease; 0 for a lock that has none.
func (e Experiment) lease() time.Duration { return e.Scenario.Lease.Of(0) }

// claimedLease is the lease of the history: 0 for a lock whose holds never end by themselves.
func (e Experiment) claimedLease() time.Duration {
	if e.Variant.Traits.NoLease {
		return 0
	}
	return e.lease()
}

// config is what the workload is told.
func (e Experiment) config() workloads.Config {
	s, lease := e.Scenario, e.lease()
	cfg := workloads.Config{
		Ops: s.Ops, Lease: lease, Think: s.Think.Of(lease), Pause: s.Pause.Of(lease),
		AcquireWait: s.Wait.Of(lease), Keys: s.Keys, Amounts: s.Amounts,
	}
	for _, f := range s.Faults {
		if f.Fault == faults.SlowWork && f.When == (faults.Trigger{}) {
			cfg.Slow = f.For.Of(lease)
		}
	}
	return cfg
}

// anyFault tells whether the plan has a fault of a kind.
func (e Experiment) anyFault(is func(name string) bool) bool {
	return slices.ContainsFunc(e.Scenario.Faults, func(f faults.Spec) bool { return is(f.Fault) })
}

// has tells whether the plan, or the score, has a fault of one of the names.
func (e Experiment) has(names ...string) bool {
	is := func(fault string) bool { return slices.Contains(names, fault) }
	return e.anyFault(is) || e.Score.Has(is)
}
