package sim

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
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

// newSimulator is a host that ends with the test.
func newSimulator(t testing.TB) *Simulator {
	t.Helper()
	h := New(catalogue.Known{})
	t.Cleanup(h.Close)
	return h
}

// simulate runs one schedule and fails the test when it cannot.
func simulate(t *testing.T, h *Simulator, p Program, s Strategy, b Bounds) Outcome {
	t.Helper()
	out, err := h.Schedule(p, s, b, true)
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
	out := simulate(t, newSimulator(t), program(t, "token", "counter", 2), ByDefault{}, Bounds{})
	if got := count(out, history.Acquire, history.OK); got != 4 {
		t.Errorf("%d acquires granted, want 4", got)
	}
	if got := count(out, history.Release, history.OK); got != 4 {
		t.Errorf("%d releases, want 4", got)
	}
	for key, ends := range out.Store {
		if *ends.Final != 4 {
			t.Errorf("%s ends at %d, want 4", key, *ends.Final)
		}
	}
	if len(out.Store) != 1 {
		t.Errorf("%d keys are guarded, want 1", len(out.Store))
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
	out := simulate(t, newSimulator(t), program(t, "token", "hot", 1), ByDefault{}, Bounds{})
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
	if !slices.Equal(names, want) {
		t.Errorf("commands of c1: %q, want %q", names, want)
	}
}

// everyFault lists all that a search may place on a single node.
var everyFault = []string{
	faults.PauseClient, faults.CrashClient, faults.CancelClient, faults.BlackholeClient, faults.LoseRequest, faults.LoseReply,
	faults.DelayRequest, faults.DelayReply, faults.KillServer, faults.PauseServer, faults.JumpClock, faults.FlushScripts, faults.DeleteKey,
}

// soak returns LOCKBENCH_SOAK, or the given default.
func soak(otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK")); err == nil {
		return n
	}
	return otherwise
}

// TestSameSeedSameTrace runs every seed of every lock, library and planted bug twice, on different
// nodes and in another order, and expects the same trace and the same history, byte for byte. Every
// other seed uses all faults instead of those that the lock must survive.
func TestSameSeedSameTrace(t *testing.T) {
	n, ran, different := soak(16), 0, 0 // of all locks more than 1,000
	locks := slices.DeleteFunc(append(catalogue.Locks(), catalogue.Planted()...), func(v impls.Variant) bool { return v.Topology == impls.Cluster })
	for _, v := range locks {
		t.Run(v.Name, func(t *testing.T) { different += repeats(t, v, n); ran += n })
	}
	t.Logf("%d seeds twice, %d different", ran, different)
	if n*len(locks) < 1000 && os.Getenv("LOCKBENCH_SOAK") == "" {
		t.Errorf("%d seeds, want 1,000 at least", n*len(locks))
	}
}

// TestDialsGoOnInTurn: two watchdogs of one client dial while it is cut off, send the same, and
// then go on at different times. Which of them dials first after the cut must not be the runtime's
// choice.
func TestDialsGoOnInTurn(t *testing.T) {
	all := catalogue.Planted()
	at := slices.IndexFunc(all, func(v impls.Variant) bool { return v.Name == "bug-outlives-release" })
	h, seen := newSimulator(t), map[string]int{}
	for range 60 {
		seen[told(seeded(t, h, all[at], 926))]++
	}
	if len(seen) != 1 {
		t.Errorf("%d different traces: %v", len(seen), slices.Collect(maps.Values(seen)))
	}
}

// repeats runs n seeds of a lock twice and returns how many differ. It shows the first.
func repeats(t *testing.T, v impls.Variant, n int) (different int) {
	one, two := newSimulator(t), newSimulator(t)
	first := make([]string, n)
	for seed := range n {
		first[seed] = told(seeded(t, one, v, seed))
	}
	for seed := n - 1; seed >= 0; seed-- {
		second := told(seeded(t, two, v, seed))
		if second == first[seed] {
			continue
		}
		if different++; different == 1 {
			t.Logf("seed %d:\n%s", seed, cmp.Diff(first[seed], second))
		}
	}
	if different > 0 {
		t.Errorf("%d of %d seeds gave two traces", different, n)
	}
	return different
}

// seeded runs one seed of a lock, in the setting of an exploration.
func seeded(t *testing.T, h *Simulator, v impls.Variant, seed int) Outcome {
	t.Helper()
	bounds := Bounds{Faults: DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}
	if seed%4 >= 2 { // random and PCT schedules take turns
		bounds.Faults = slices.Compact(slices.Sorted(slices.Values(append(bounds.Faults, everyFault...))))
	}
	p, order, bounds := scheduleOf(v, bounds, seed)
	return simulate(t, h, p, order, bounds)
}

// scheduleOf returns schedule n of a lock within bounds: random and PCT take turns, and so do some
// faults that are there from the start.
func scheduleOf(v impls.Variant, b Bounds, n int) (Program, Strategy, Bounds) {
	p := DefaultProgram(v)
	p.Seed = uint64(n) + 1
	b.Faults = slices.DeleteFunc(slices.Clone(b.Faults), IsStanding)
	switch n % 5 {
	case 2:
		p.Faults = append(p.Faults, faults.Spec{Fault: faults.SlowWork, Client: 1, For: faults.Span{Leases: 1.5}})
	case 3:
		p.Faults = append(p.Faults, faults.Spec{Fault: faults.SkewClient, Client: 2, By: faults.Span{Fixed: 2 * time.Second}})
	case 4:
		p.Faults = append(p.Faults, faults.Spec{Fault: faults.CollideOwners})
	}
	if n%4 < 2 {
		return p, NewPCT(p.Seed, b, p.Clients, 60), b
	}
	return p, NewRandom(p.Seed, b, 60), b
}

// told returns everything that a schedule shows.
func told(out Outcome) string {
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join(out.Trace, "\n"), out.Hash, out.Header)
	for _, op := range out.Ops {
		fmt.Fprintln(&b, op)
	}
	for _, c := range out.Commands {
		fmt.Fprintln(&b, c)
	}
	fmt.Fprintln(&b, out.Windows, out.Schedule, out.choices(), out.Stuck, out.Errors, out.Left)
	return b.String()
}
