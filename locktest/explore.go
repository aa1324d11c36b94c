package locktest

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/sim"
)

// ExploreOptions says what is explored. The zero value is the documented default of each field.
type ExploreOptions struct {
	Name      string         // of the lock, in messages; "" means the test's name
	Kind      history.Kind   // "" means history.Mutex
	Traits    impls.Traits   // what the lock can do; they choose the faults it must stand
	Topology  impls.Topology // "" means one server
	Clients   int            // 0 means two
	Faults    []string       // nil means sim.DefaultFaults of the traits
	MaxFaults int            // in one schedule; 0 means two, -1 none
	Schedules int            // 0 means 2,000
	Budget    time.Duration  // of real time; 0 means ten seconds
	Seed      uint64
}

// Explore runs a lock of the caller's in the simulator, under many schedules of its messages and of faults, and fails the test with the
// story of the first that breaks a promise, and with a tape that runs it again. newLock makes one client's handle; it must take its
// connections, its clock and its randomness from the Env, or schedules cannot be repeated.
//
// It runs in the test's own process: a lock that panics in a goroutine of its own ends the test with it.
func Explore(t *testing.T, newLock func(impls.Env) (impls.Lock, error), o ExploreOptions) {
	t.Helper()
	s := sim.New(nil)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := s.Explore(t.Context(), o.config(t.Name(), newLock))
	switch {
	case err != nil:
		t.Fatal(err)
	case r.First != nil:
		t.Errorf("%s broken (%s) in schedule %d:\n%s\n\ntape, for sim.ReadTape:\n%s", r.First.Property, r.First.Cause, r.First.Schedule,
			strings.Join(r.First.Steps, "\n"), r.First.Tape)
	case r.Schedules == 0:
		t.Errorf("no schedule was run within %v", o.Budget)
	default:
		t.Logf("%d schedules, no violation; inherent to leases: %s", r.Schedules, r.Exceptions())
	}
}

// config fills in the defaults.
func (o ExploreOptions) config(test string, newLock func(impls.Env) (impls.Lock, error)) sim.ExploreConfig {
	v := impls.Variant{Name: o.Name, Kind: o.Kind, Traits: o.Traits, Topology: o.Topology, New: newLock}
	if v.Name == "" {
		v.Name = test
	}
	if v.Kind == "" {
		v.Kind = history.Mutex
	}
	p := sim.DefaultProgram(v)
	if o.Clients > 0 {
		p.Clients = o.Clients
	}
	b := sim.Bounds{Faults: o.Faults, MaxFaults: max(o.MaxFaults, 0), MaxWaits: 2}
	if o.Faults == nil {
		b.Faults = sim.DefaultFaults(v)
	}
	if o.MaxFaults == 0 {
		b.MaxFaults = 2
	}
	c := sim.ExploreConfig{Program: p, Bounds: b, Seed: o.Seed, Schedules: o.Schedules, Budget: o.Budget}
	if c.Schedules == 0 {
		c.Schedules = 2000
	}
	if c.Budget == 0 {
		c.Budget = 10 * time.Second
	}
	return c
}
