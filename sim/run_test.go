package sim

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/workloads"
)

// program is a lock of the catalogue under a workload: two clients, a lease of a second.
func program(t testing.TB, lock, workload string, ops int) Program {
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
	return Program{Variant: v, Workload: w, Clients: 2, Config: workloads.Config{
		Ops: ops, Lease: lease, Think: lease / 10, AcquireWait: 3 * lease,
	}}
}

// newTestHost is a host that ends with the test.
func newTestHost(t testing.TB) *host {
	t.Helper()
	h := newHost(catalogue.Known{})
	t.Cleanup(h.close)
	return h
}

// simulate runs one schedule and fails the test when it cannot.
func simulate(t *testing.T, h *host, p Program, s chooser, b Bounds) Outcome {
	t.Helper()
	out, err := h.run(p, s, b, true)
	if err != nil {
		t.Fatal(err)
	}
	if out.Crash != "" {
		t.Fatal(out.Crash)
	}
	return out
}

// count returns how many operations of a kind had an outcome.
func count(out Outcome, op history.Op, outcome history.Outcome) int {
	n := 0
	for _, o := range out.Ops {
		if o.Op == op && o.Outcome == outcome {
			n++
		}
	}
	return n
}

func TestTwoClientsTakeTurnsByDefault(t *testing.T) {
	out := simulate(t, newTestHost(t), program(t, "token", "counter", 2), byDefault{}, Bounds{})
	if got := count(out, history.Acquire, history.OK); got != 4 {
		t.Errorf("%d acquires granted, want 4", got)
	}
	if got := count(out, history.Release, history.OK); got != 4 {
		t.Errorf("%d releases, want 4", got)
	}
	if out.Final == nil || *out.Final != 4 {
		t.Errorf("the counter ends at %v, want 4", out.Final)
	}
	if len(out.tape) != 0 || len(out.Stuck) != 0 || len(out.Errors) != 0 {
		t.Errorf("tape %v, stuck %v, errors %v; want none", out.tape, out.Stuck, out.Errors)
	}
	// Each client works for a tenth of the lease twice, and waiters poll every fifth of it.
	if out.Virtual < 4*100*time.Millisecond || out.Virtual > time.Second {
		t.Errorf("took %v of virtual time", out.Virtual)
	}
}

func TestCommandsAreRecordedWithScriptNames(t *testing.T) {
	out := simulate(t, newTestHost(t), program(t, "token", "hot", 1), byDefault{}, Bounds{})
	var names []string
	for _, c := range out.Commands {
		if c.Client != "c1" {
			continue
		}
		name := c.Name
		if c.Name == "EVALSHA" || c.Name == "EVAL" {
			name += " " + c.Args[0]
		}
		if c.Replied <= c.Sent {
			t.Errorf("%s sent at %d, answered at %d", name, c.Sent, c.Replied)
		}
		names = append(names, name+" = "+c.Reply)
	}
	want := []string{
		"SET = OK",
		"EVALSHA token_release.lua = -NOSCRIPT No matching script. Please use EVAL.",
		"EVAL token_release.lua = 1",
	}
	if len(names) != len(want) {
		t.Fatalf("commands of c1: %q, want %q", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("command %d: %s, want %s", i, names[i], want[i])
		}
	}
}
