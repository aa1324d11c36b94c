package harness

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// Both worlds do the same: each kind of fault, at each form of trigger that it accepts, once and
// twice, leaves the same windows in the simulator and on real servers. The test compares which
// faults were injected, their targets and moments, their order, and whether they were confirmed,
// but not times, which depend on the machine. There is one client, so that nothing depends on which
// client comes first.
func TestWorldsAgreeAboutEveryFault(t *testing.T) {
	real, simulated := provider(t, "process"), &Sim{Schedules: 1}
	t.Cleanup(func() { _ = simulated.Close() })
	rows := agreements(t)
	compare := func(ctx context.Context, rows []scenarios.Scenario, atOnce int) (differ []scenarios.Scenario, how []string) {
		all := make([]string, len(rows))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		for i, s := range rows {
			group.Go(func() (err error) { all[i], err = difference(ctx, s, simulated, real); return err })
		}
		must(t, group.Wait())
		for i, text := range all {
			if text != "" {
				differ, how = append(differ, rows[i]), append(how, rows[i].Name+": "+text)
			}
		}
		return differ, how
	}
	rows, how := compare(t.Context(), rows, rowsAtOnce)
	for n := 1; n < attempts && len(rows) > 0; n++ { // alone: a busy machine delays faults placed at a time
		t.Logf("once more: %s", strings.Join(how, "\n"))
		rows, how = compare(t.Context(), rows, 1)
	}
	if len(how) > 0 {
		t.Error(strings.Join(how, "\n"))
	}
}

// rowsAtOnce is how many rows of the agreement run concurrently: a row waits most of the time.
const rowsAtOnce = 10

// difference returns how the windows of a scenario differ between two worlds, or from those that
// its one fault must leave; "" if they do not.
func difference(ctx context.Context, s scenarios.Scenario, one, other servers.Provider) (string, error) {
	want, err := windowsOf(ctx, one, s)
	if err != nil {
		return "", err
	}
	got, err := windowsOf(ctx, other, s)
	if err != nil {
		return "", err
	}
	times := s.Faults[0].Times
	if s.Faults[0].Fault == faults.CrashClient {
		times = 1 // there is one client to kill
	}
	switch {
	case len(want) != times:
		return fmt.Sprintf("on %s %q, want %d", one.Name(), want, times), nil
	case !slices.Equal(got, want):
		return fmt.Sprintf("on %s %q, on %s %q", other.Name(), got, one.Name(), want), nil
	}
	return "", nil
}

// agreements returns a scenario for each kind of fault, form of trigger, match and number of times
// that a file may combine. It covers every form of trigger that a kind accepts.
func agreements(t *testing.T) (all []scenarios.Scenario) {
	early := faults.Span{Fixed: 500 * time.Millisecond}
	triggers := []faults.Trigger{{}, {After: early}, {Within: early}, {Moment: string(history.Entered)}, {Request: "acquire *w"}, {Reply: "acquire *w"}}
	for _, k := range faults.Kinds() {
		if k.Refusal(false, impls.Replicated) != "" { // whatever the topology
			continue
		}
		if k.In == faults.InMessage { // the lock is free after the loss of either message
			triggers[len(triggers)-1].Reply = "release *w"
		} else {
			triggers[len(triggers)-1].Reply = "acquire *w"
		}
		var seen faults.Form
		for _, when := range triggers {
			for _, when.Nth = range []int{0, 2} {
				for times := 1; times <= 2; times++ {
					s := agreement(k, when, times)
					if text, err := s.YAML(); err != nil {
						t.Fatal(err)
					} else if _, err := scenarios.Parse(s.Name, text); err == nil {
						seen |= when.Form()
						all = append(all, s)
					}
				}
			}
		}
		if seen != k.At {
			t.Fatalf("%s can be injected at %s; the table has %s", k.Name, k.At, seen)
		}
	}
	return all
}

// agreement returns a scenario in which the trigger matches at least once more than the fault may
// be injected. A fault is over when the next round begins.
func agreement(k faults.Kind, when faults.Trigger, times int) scenarios.Scenario {
	f := faults.Spec{Fault: k.Name, When: when, Times: times}
	for _, u := range k.Uses {
		switch u.Field {
		case "for":
			f.For = faults.Span{Fixed: 30 * time.Millisecond}
		case "by":
			f.By = faults.Span{Fixed: 5 * time.Millisecond}
		case "rate":
			f.Rate = map[string]float64{faults.DriftClock: 1.5, faults.SlowNetwork: 1e6}[k.Name]
		}
	}
	name := fmt.Sprintf("%s-%s-%d-times-from-%d", k.Name, when.Form(), times, max(when.Nth, 1))
	if when.Within != (faults.Span{}) {
		name += "-drawn"
	}
	s := scenarios.Scenario{Name: strings.ReplaceAll(name, " ", "-"), About: "One fault.", Workload: "counter", Clients: 1, Ops: max(when.Nth, 1) + times,
		Lease: faults.Span{Fixed: 4 * time.Second}, Think: faults.Span{Fixed: 10 * time.Millisecond}, Pause: faults.Span{Fixed: 100 * time.Millisecond},
		Wait: faults.Span{Fixed: 10 * time.Second}, Faults: []faults.Spec{f}}
	if k.In == faults.InServer { // a server may have to start again
		s.Pause.Fixed *= 3
	}
	if k.Name == faults.Failover {
		s.Topology = impls.Replicated
	}
	if when.Form() == faults.AtTime { // it is injected in the first section
		s.Ops, s.Think = 1, faults.Span{Fixed: 1200 * time.Millisecond}
	}
	return s
}

// windowsOf runs a scenario in a world and describes its windows, in the order in which they began.
func windowsOf(ctx context.Context, p servers.Provider, s scenarios.Scenario) (got []string, err error) {
	v, _ := catalogue.Find("token")
	out, err := Run(ctx, Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: p, Seed: 1, Now: time.Now, Random: bytes.NewReader(make([]byte, 64))})
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", s.Name, p.Name(), err)
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
	return got, nil
}

// A fault that is impossible on a topology, or on servers of a user, is refused, with the reason,
// before anything is started.
func TestAFaultThatIsImpossibleIsRefused(t *testing.T) {
	v, _ := catalogue.Find("token")
	for _, k := range faults.Kinds() {
		for _, topology := range append(impls.Topologies(), "guest") {
			var p servers.Provider = renamed{&Sim{}, "process"}
			if topology == "guest" {
				topology, p = impls.Standalone, guest{p}
			}
			why := k.Refusal(p.Guest(), topology)
			s := scenarios.Scenario{Name: "refused", Workload: "counter", Topology: topology, Clients: 1, Faults: []faults.Spec{{Fault: k.Name}}}
			if err := (Experiment{Variant: v, Scenario: s, Provider: p}).Validate(); why != "" && (err == nil || !bytes.Contains([]byte(err.Error()), []byte(why))) {
				t.Errorf("%s on %s: %v, want %q", k.Name, topology, err, why)
			}
		}
	}
}

// guest is servers of a user.
type guest struct{ servers.Provider }

func (guest) Guest() bool { return true }

// A scenario that leaves the topology to the lock may name a node that the lock does not have.
func TestAFaultOfNoNodeIsRefused(t *testing.T) {
	for _, row := range []struct {
		lock, want string
	}{
		{"token", "kill-server of far on node 3: usage: token, standalone, has 1"},
		{"redlock", ""}, // five nodes
	} {
		v, ok := catalogue.Find(row.lock)
		if !ok {
			t.Fatal(row.lock)
		}
		s := scenarios.Scenario{Name: "far", Workload: "counter", Clients: 1, Faults: []faults.Spec{{Fault: faults.KillServer, Node: 3}}}
		var got string
		if err := (Experiment{Variant: v, Scenario: s, Provider: &Sim{}}).Validate(); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.lock, got, row.want)
		}
	}
}

// renamed is a provider under another name.
type renamed struct {
	servers.Provider
	name string
}

func (n renamed) Name() string { return n.name }
