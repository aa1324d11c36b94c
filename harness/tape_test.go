package harness

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

// What the simulator finds also occurs on a real Redis: a run on real servers that replays the
// tape's messages and faults in order violates the same property.
func TestRealServersAreLedThroughATape(t *testing.T) {
	p := provider(t, "process")
	for _, tt := range []struct {
		lock, breaks string
		faults       []string // those that the search may place; nil: the lock's default
		topology     impls.Topology
	}{
		// an order of messages, without a fault
		{"exists-set", "mutual-exclusion/double-grant", []string{}, ""},
		// a stall in the section
		{"set-nx-ex", "mutual-exclusion/mis-unlock", []string{faults.PauseClient}, ""},
		// a stall between two commands
		{"token-get-del", "mutual-exclusion/mis-unlock", []string{faults.PauseClient}, ""},
		{"setnx", "progress/no-expiry", []string{faults.CrashClient}, ""},                      // a crash
		{"bug-inner-release", "mutual-exclusion/own-release", []string{}, ""},                  // a planted bug
		{"lua-setnx-expire", "mutual-exclusion/mis-unlock", []string{faults.DelayRequest}, ""}, // a late release
		{"bug-unknown-is-busy", "refusal/ambiguous-reply", []string{faults.LoseReply}, ""},     // a lost reply
		{"bug-readers-cleared", "mutual-exclusion/reader-evicted", nil, ""},                    // three clients
		// a server that forgets
		{"token", "mutual-exclusion/restart-loss", []string{faults.KillServer}, ""},
		// a replica without the key
		{"token", "mutual-exclusion/failover-loss", []string{faults.Failover}, impls.Replicated},
		{"token", "mutual-exclusion/clock-jump", []string{faults.JumpClock}, ""}, // a clock
		// an operator who deletes the key
		{"token", "mutual-exclusion/key-deleted", []string{faults.DeleteKey}, ""},
		// a server with full memory
		{"token", "mutual-exclusion/eviction", []string{faults.EvictKeys}, ""},
	} {
		t.Run(tt.lock+" "+tt.breaks, func(t *testing.T) {
			t.Parallel()
			shows(t, shrunk(t, tt.lock, tt.breaks, tt.faults, tt.topology, 0), p)
		})
	}
}

// Containers replay tapes as processes do: an order of messages, a stalled client, a server that
// restarts on another port, and one that loses a key.
func TestContainersAreLedThroughATape(t *testing.T) {
	t.Parallel()
	p := provider(t, "docker")
	for _, tt := range []struct{ lock, breaks, fault string }{
		{"set-nx-ex", "mutual-exclusion/mis-unlock", faults.PauseClient},
		{"token", "mutual-exclusion/restart-loss", faults.KillServer},
		{"token", "mutual-exclusion/eviction", faults.EvictKeys},
	} {
		t.Run(tt.lock+" "+tt.breaks, func(t *testing.T) {
			t.Parallel()
			shows(t, shrunk(t, tt.lock, tt.breaks, []string{tt.fault}, "", containerLease), p)
		})
	}
}

// shows checks that a run on real servers violates the tape's property for the same cause.
func shows(t *testing.T, tape sim.Tape, p servers.Provider) {
	t.Helper()
	var out *Outcome
	for range plays {
		if out = ledThrough(t, tape, p); out.Order.Left == "" && broke(out, tape) {
			return
		}
	}
	t.Errorf("%s/%s did not show, but %v; %+v\nchoices %v", tape.Property, tape.Cause, results.Observed(out.Result), *out.Order, tape.Choices)
}

// plays is how often a tape is replayed: on a slow machine a watchdog may send one request more
// than the tape has.
const plays = 3

func broke(out *Outcome, tape sim.Tape) bool {
	return slices.ContainsFunc(out.Verdict.Properties, func(p checker.Property) bool {
		return p.Name == tape.Property && p.Verdict == checker.Fail && p.Causes[tape.Cause] > 0
	})
}

// containerLease exceeds the time to kill and restart a container: otherwise the lease would have
// expired before the data are lost.
const containerLease = 5 * time.Second

// shrunk finds a tape with a violation, and shrinks it. A lease of 0 means the program's own.
func shrunk(t *testing.T, lock, breaks string, may []string, topology impls.Topology, lease time.Duration) sim.Tape {
	t.Helper()
	v, _ := catalogue.Find(lock)
	s := sim.New(catalogue.Known{})
	defer s.Close()
	program := sim.DefaultProgram(v)
	program.Topology = topology
	if lease > 0 {
		// nobody gives up, at an instant that a slow machine misses
		program.Config.Lease, program.Config.AcquireWait = lease, 2*lease
	}
	if may == nil {
		may = sim.DefaultFaults(v)
	}
	found, err := search.Here(t.Context(), search.Config{Program: program, Seed: 1, Schedules: 4000, Seek: []string{breaks},
		Bounds: sim.Bounds{Faults: may, MaxFaults: min(2, len(may)), MaxWaits: 2}}, []sim.Runner{s}, nil)
	if err != nil || found.First == nil {
		t.Fatalf("no tape: %v", err)
	}
	tape, err := search.Shrink(t.Context(), s, found.Tape, search.Tries)
	must(t, err)
	return tape
}

// ledThrough replays a tape on real servers.
func ledThrough(t *testing.T, tape sim.Tape, p servers.Provider) *Outcome {
	t.Helper()
	s := sim.New(catalogue.Known{})
	defer s.Close()
	simulated, err := s.Replay(tape)
	must(t, err)
	sc := OfTape(tape)
	text, err := sc.YAML()
	must(t, err)
	if sc, err = scenarios.Parse("tape", text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	v, _ := catalogue.Find(tape.Program.Lock)
	out, err := Run(t.Context(), Experiment{Variant: v, Scenario: sc.Resolve(tape.Program.Seed, v.Topology), Provider: p, Schedule: simulated.Schedule.Playable(),
		Seed: tape.Program.Seed, Now: time.Now, Random: bytes.NewReader(make([]byte, 64))})
	must(t, err)
	return out
}
