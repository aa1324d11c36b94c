package scenarios

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

func ms(n int) faults.Span { return faults.Span{Fixed: time.Duration(n) * time.Millisecond} }

func TestBuiltin(t *testing.T) {
	for _, name := range order {
		s, err := load(name)
		if err != nil {
			t.Error(err)
		}
		if s.About == "" || strings.Contains(s.About, "\n") {
			t.Errorf("%s: about must be one line: %q", s.Name, s.About)
		}
	}
	found, err := fs.Glob(files, "builtin/*.yaml")
	if err != nil || len(found) != len(order) {
		t.Errorf("%d files, %d names in order; error %v", len(found), len(order), err)
	}
}

// A resolved scenario, written and read again, is the same plan and has no open choice.
func TestResolvedIsFixed(t *testing.T) {
	for _, s := range Builtin() {
		first := s.Resolve(7, impls.Standalone)
		data, err := first.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(s.Name+".yaml", data)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if diff := cmp.Diff(first, again.Resolve(8, impls.Cluster)); diff != "" {
			t.Errorf("%s: resolved again it differs:\n%s", s.Name, diff)
		}
		if hash(t, first, 7) != hash(t, again, 7) || hash(t, first, 7) == hash(t, first, 8) {
			t.Errorf("%s: the hash must name the plan and the seed", s.Name)
		}
		if again.About += "!"; hash(t, first, 7) != hash(t, again, 7) {
			t.Errorf("%s: the hash depends on the description", s.Name)
		}
		for _, f := range first.Faults {
			checkDrawn(t, first, f)
		}
	}
}

func checkDrawn(t *testing.T, s Scenario, f faults.Spec) {
	t.Helper()
	kind, _ := faults.FindKind(f.Fault)
	if kind.On == faults.OneClient && f.Client == 0 && !f.When.OfClient() || kind.On == faults.OneNode && f.Node == 0 || f.Client > s.Clients || f.Node > s.Nodes {
		t.Errorf("%s: not drawn, or out of range: %+v", s.Name, f)
	}
	if f.For.Leases != 0 || f.By.Leases != 0 || f.When.After.Leases != 0 || f.When.Within != (faults.Span{}) {
		t.Errorf("%s: a span is still in leases: %+v", s.Name, f)
	}
}

func hash(t *testing.T, s Scenario, seed uint64) string {
	t.Helper()
	h, err := s.Hash(seed, "token")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestResolveFillsIn(t *testing.T) {
	s := Scenario{
		Name: "x", Workload: "counter", Clients: 4, Ops: 1, Lease: ms(200), Think: faults.Span{Leases: 0.5}, Wait: faults.Span{Leases: 3, Fixed: 5},
		Faults: []faults.Spec{
			{Fault: faults.PartitionNodes, When: faults.Trigger{After: faults.Span{Leases: 2}}, For: faults.Span{Leases: 1}},
			{Fault: faults.PartitionNodes, When: faults.Trigger{Within: ms(1000)}},
			{Fault: faults.PauseClient, Client: 2, When: faults.Trigger{Moment: "entered"}, For: ms(10)},
		},
	}
	got := s.Resolve(3, impls.Independent)
	if got.Nodes != 5 || got.Topology != impls.Independent || got.Think != ms(100) || got.Wait.Fixed != 600*time.Millisecond+5 ||
		got.Poll.Fixed != impls.DefaultPoll || got.Keys != 1 || got.Permits != 1 || got.Persistence != "none" {
		t.Errorf("defaults: %+v", got)
	}
	a, b, c := got.Faults[0], got.Faults[1], got.Faults[2]
	if a.Node == b.Node || a.When.After != ms(400) || a.For != ms(200) || c.Client != 2 {
		t.Errorf("faults: %+v", got.Faults)
	}
	if at := b.When.After.Fixed; at <= 0 || at > time.Second || b.When.Within != (faults.Span{}) {
		t.Errorf("a time drawn within a second: %+v", b.When)
	}
	if s.Faults[0].Node != 0 {
		t.Error("the scenario itself was changed")
	}
}

// Same seed, same plan; other seeds choose every client.
func TestResolveDraws(t *testing.T) {
	s, _ := Find("client-clock-skew")
	var drawn []int
	for seed := range uint64(50) {
		one, two := s.Resolve(seed, ""), s.Resolve(seed, "")
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		drawn = append(drawn, one.Faults[0].Client)
	}
	slices.Sort(drawn)
	if got := slices.Compact(drawn); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("clients drawn by 50 seeds: %v", got)
	}
}

// The seed draws only nodes that grant, so never the replica of a pair. A scenario may name the
// replica.
func TestResolveDrawsANodeThatGrants(t *testing.T) {
	for _, s := range append(Builtin(), Scenario{Faults: []faults.Spec{{Fault: faults.KillServer, Node: 2}}}) {
		for seed := range uint64(20) {
			for i, f := range s.Resolve(seed, impls.Replicated).Faults {
				if kind, _ := faults.FindKind(f.Fault); kind.On == faults.OneNode && s.Topology != impls.Independent && f.Node != max(s.Faults[i].Node, 1) {
					t.Fatalf("%s, seed %d: %s hits node %d", s.Name, seed, f.Fault, f.Node)
				}
			}
		}
	}
}

// If there are more faults of a name than clients, a client is drawn twice.
func TestResolveDrawsAClientTwice(t *testing.T) {
	s := Scenario{Clients: 2, Lease: ms(1)}
	for range 5 {
		s.Faults = append(s.Faults, faults.Spec{Fault: faults.CrashClient, When: faults.Trigger{After: ms(1)}})
	}
	for _, f := range s.Resolve(1, "").Faults {
		if f.Client < 1 || f.Client > 2 {
			t.Errorf("client %d", f.Client)
		}
	}
}
