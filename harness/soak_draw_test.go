package harness

import (
	"cmp"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
)

// soakExperiment draws a lock, the kind of clients, and up to three faults.
func soakExperiment(t *testing.T, seed uint64) Experiment {
	d := draw{mathrand.New(mathrand.NewPCG(seed, 0x50a4))}
	locks := catalogue.Locks()
	v := locks[d.IntN(len(locks))]
	for v.Topology == impls.Cluster {
		v = locks[d.IntN(len(locks))]
	}
	sc := d.scenario(v)
	text, err := sc.YAML()
	if err == nil {
		sc, err = scenarios.Parse(fmt.Sprintf("seed %d", seed), text)
	}
	if err != nil {
		t.Fatalf("the drawn scenario makes no sense: %v\n%s", err, text)
	}
	as := Goroutines
	if d.IntN(3) == 0 {
		as = Processes
	}
	return Experiment{Variant: v, Scenario: sc.Resolve(seed, v.Topology), Seed: seed, As: as, Now: time.Now, Random: rand.Reader}
}

// draw makes the choices of one experiment.
type draw struct{ *mathrand.Rand }

func (d draw) scenario(v impls.Variant) scenarios.Scenario {
	s := scenarios.Scenario{Name: "soak", About: "drawn", Workload: "counter", Topology: v.Topology, Clients: 3, Ops: 3,
		Lease: span(300 * time.Millisecond), Think: span(30 * time.Millisecond), Pause: span(10 * time.Millisecond), Wait: span(2 * time.Second),
		Poll: span(5 * time.Millisecond), Persistence: pick(d, impls.PersistNone, impls.PersistEverySec, impls.PersistAlways)}
	switch v.Kind {
	case history.RW:
		s.Workload = "read-mostly"
	case history.Reentrant:
		s.Workload = pick(d, "counter", "nested")
	case history.Semaphore:
		s.Workload, s.Permits = "hot", 2
	}
	if cmp.Or(v.Topology, impls.Standalone) == impls.Standalone && d.IntN(3) == 0 {
		s.Topology = impls.Replicated
	}
	kinds := faults.Kinds()
	for len(s.Faults) < 1+d.IntN(3) {
		k := kinds[d.IntN(len(kinds))]
		if k.Refusal(false, impls.Replicated) == "" && (k.Name != faults.Failover || s.Topology == impls.Replicated) {
			s.Faults = append(s.Faults, d.fault(k))
		}
	}
	return s
}

// fault draws a fault of a kind: target, moment, length and size.
func (d draw) fault(k faults.Kind) faults.Spec {
	f := faults.Spec{Fault: k.Name}
	if k.At != faults.AtStart && !(k.At&faults.AtStart != 0 && d.IntN(2) == 0) {
		f.When = d.trigger(k)
		if k.Name != faults.Failover { // the old primary stays down
			f.Times = d.IntN(3)
		}
	}
	for _, u := range k.Uses {
		if !u.Required && d.IntN(2) == 0 {
			continue
		}
		switch u.Field {
		case "for":
			f.For = faults.Span{Leases: 0.1 + 1.5*d.Float64()}
		case "until":
			f.Until = faults.OtherEntered
		case "by":
			f.By = d.size(k.Name)
		case "rate":
			f.Rate = map[string]float64{faults.DriftClock: 0.5 + 1.5*d.Float64(), faults.SlowNetwork: 1e5}[k.Name]
		}
	}
	return f
}

func (d draw) size(fault string) faults.Span {
	if fault == faults.SlowNetwork {
		return span(time.Duration(1+d.IntN(10)) * time.Millisecond)
	}
	return faults.Span{Leases: 4*d.Float64() - 2}
}

func (d draw) trigger(k faults.Kind) faults.Trigger {
	command := pick(d, "acquire", "acquire *w", "extend", "release", "release *w", "use", "any")
	form := faults.AtStart
	for form == faults.AtStart || k.At&form == 0 {
		form = pick(d, faults.AtTime, faults.AtMoment, faults.AtMoment, faults.AtRequest, faults.AtReply)
	}
	t := faults.Trigger{Nth: d.IntN(3)}
	switch form {
	case faults.AtRequest:
		t.Request = command
	case faults.AtReply:
		t.Reply = command
	case faults.AtTime:
		return faults.Trigger{Within: span(500 * time.Millisecond)}
	default:
		t.Moment = string(pick(d, history.Calling, history.Granted, history.Entered, history.BeforeRelease))
	}
	return t
}

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

func span(d time.Duration) faults.Span { return faults.Span{Fixed: d} }
