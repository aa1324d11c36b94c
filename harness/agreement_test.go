package harness

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// Both worlds do the same: each kind of fault, at each form of trigger that it can strike at, once and twice, leaves the same windows in the
// simulator and on real servers. What is compared is which fault struck, whom and where, in which order, and whether it was seen to take; when it
// did is up to the machine. One client takes part, so that what it meets does not depend on who comes first.
func TestWorldsAgreeAboutEveryFault(t *testing.T) {
	real, simulated := provider(t, "process"), &Sim{Schedules: 1}
	t.Cleanup(func() { _ = simulated.Close() })
	for _, k := range faults.Kinds() {
		for _, spec := range placements(k) {
			t.Run(fmt.Sprintf("%s at %s, anyone %v, %d times", k.Name, spec.When.Form(), spec.When.Anyone, spec.Times), func(t *testing.T) {
				t.Parallel()
				want, got := windowsOf(t, simulated, spec), windowsOf(t, real, spec)
				if len(want) == 0 {
					t.Fatal("it never struck in the simulator")
				}
				if !slices.Equal(got, want) {
					t.Errorf("on servers %q\nsimulated  %q", got, want)
				}
			})
		}
	}
}

// placements are the faults of a kind, by form of trigger and by how often.
func placements(k faults.Kind) (all []faults.Spec) {
	for _, trigger := range []faults.Trigger{
		{},
		{After: faults.Span{Fixed: 200 * time.Millisecond}},
		{Moment: string(history.Entered)},
		{Moment: string(history.Entered), Anyone: true},
		{Request: "release *w"},
		{Reply: "acquire *w"},
		{Request: "release *w", Anyone: true},
		{Reply: "acquire *w", Anyone: true},
	} {
		form := trigger.Form()
		if k.At&form == 0 {
			continue
		}
		for times := 1; times <= 2; times++ {
			if times == 2 && (form == faults.AtStart || k.Name == faults.Failover) {
				continue
			}
			s := faults.Spec{Fault: k.Name, When: trigger, Times: times}
			for _, u := range k.Uses {
				switch u.Field {
				case "for":
					s.For = faults.Span{Fixed: 30 * time.Millisecond}
				case "by":
					s.By = faults.Span{Fixed: 5 * time.Millisecond}
				case "rate":
					s.Rate = map[string]float64{faults.DriftClock: 1.5, faults.SlowNetwork: 1e6}[k.Name]
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// windowsOf runs a fault in a world and describes its windows, in the order in which they began.
func windowsOf(t *testing.T, p servers.Provider, spec faults.Spec) (got []string) {
	t.Helper()
	v, _ := catalogue.Find("token")
	s := scenarios.Scenario{Name: "agreement", About: "One fault.", Workload: "counter", Clients: 1, Ops: 3, Lease: faults.Span{Fixed: 4 * time.Second},
		Think: faults.Span{Fixed: 20 * time.Millisecond}, Pause: faults.Span{Fixed: 250 * time.Millisecond}, Wait: faults.Span{Fixed: time.Second}, Faults: []faults.Spec{spec}}
	if spec.Fault == faults.Failover {
		s.Topology = impls.Replicated
	}
	if spec.When.Form() == faults.AtTime { // both strike in the first section
		s.Ops, s.Think = 1, faults.Span{Fixed: 700 * time.Millisecond}
	}
	out, err := Run(t.Context(), Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: p, Seed: 1, Now: time.Now, Random: bytes.NewReader(make([]byte, 64))})
	if err != nil {
		t.Fatalf("%s: %v", p.Name(), err)
	}
	windows := slices.Clone(out.Windows)
	slices.SortStableFunc(windows, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	for _, w := range windows {
		var did []string
		for _, e := range w.Effects {
			did = append(did, e.What)
		}
		got = append(got, fmt.Sprintf("%s %s node %d, confirmed %v, %s %v", w.Fault, w.Client, w.Node, w.Confirmed, w.Moment, did))
	}
	return got
}

// A fault that a world cannot do is refused, with the reason, before anything is started.
func TestWhatAWorldCannotDoIsRefused(t *testing.T) {
	v, _ := catalogue.Find("token")
	for _, k := range faults.Kinds() {
		for _, l := range k.Not {
			s := scenarios.Scenario{Name: "refused", Workload: "counter", Topology: cmp.Or(l.Topology, impls.Standalone), Clients: 1, Faults: []faults.Spec{{Fault: k.Name}}}
			e := Experiment{Variant: v, Scenario: s, Provider: renamed{&Sim{}, cmp.Or(l.World, "sim")}}
			if err := e.Validate(); err == nil || !bytes.Contains([]byte(err.Error()), []byte(l.Why)) {
				t.Errorf("%s on %s, %s: %v, want %q", k.Name, l.World, l.Topology, err, l.Why)
			}
		}
	}
}

// renamed is a provider under another name.
type renamed struct {
	servers.Provider
	name string
}

func (n renamed) Name() string { return n.name }
