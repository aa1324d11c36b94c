package search

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// program is a lock of the catalogue under a workload: two clients, a lease of a second.
func program(t testing.TB, lock, workload string, ops int) sim.Program {
	t.Helper()
	v, ok := catalogue.Find(lock)
	if !ok {
		t.Fatalf("no lock %s", lock)
	}
	w, ok := workloads.Find(workload)
	if !ok {
		t.Fatalf("no workload %s", workload)
	}
	lease := time.Second
	return sim.Program{Variant: v, Workload: w, Clients: 2, Config: workloads.Config{
		Ops: ops, Lease: lease, Think: lease / 10, AcquireWait: 3 * lease,
	}}
}

// newSimulator returns a simulator that ends with the test.
func newSimulator(t testing.TB) *sim.Simulator {
	t.Helper()
	s := sim.New(catalogue.Known{})
	t.Cleanup(s.Close)
	return s
}
