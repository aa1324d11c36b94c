package search

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// schedule is one schedule of a job, determined by the job's seed and its number.
type schedule struct {
	program  sim.Program
	bounds   sim.Bounds
	strategy sim.Strategy
}

// draw returns schedule n of a job, without a strategy if that is a walk's. length is the number of
// steps that the program takes by default.
func (j searchJob) draw(n, length int) schedule {
	if j.Strategy == Exhaustive {
		return schedule{program: j.Program, bounds: j.Bounds}
	}
	seed := j.Seed<<20 + uint64(n)
	r := rand.New(rand.NewPCG(seed, 4))
	p, b := j.Program, j.Bounds
	p.Seed = seed
	p = drawRounds(p, r)
	var injected []string
	for _, f := range b.Faults {
		if !sim.IsStanding(f) {
			injected = append(injected, f)
			continue
		}
		if b.MaxFaults > 0 && r.IntN(2) == 0 { // it counts towards the number of faults allowed
			p.Faults = append(slices.Clone(p.Faults), standingFault(f, p, r))
			b.MaxFaults--
		}
	}
	b.Faults = injected
	p, b = drawLoss(p, b, r)
	// A schedule of many tries has one round: more would cost the search its pace, and a tape of
	// hundreds of steps is hard to follow.
	if n%many == many-1 {
		p.Poll = p.Config.Lease / manyTries
		if p.Config.Lease < simulated {
			p = p.WithLease(longEnough)
			p.Poll = 5 * time.Millisecond
		}
		p.Config.Think, p.Config.Ops = p.Config.Lease*4/5, 1
	}
	if j.Strategy == PCT || (j.Strategy != Random && n%2 == 1) {
		return schedule{p, b, sim.NewPCT(seed, b, p.Clients, length)}
	}
	return schedule{p, b, sim.NewRandom(seed, b, length)}
}

// In one schedule of many, a waiter polls so often, and its holder works for so long, that a wait has
// more tries than a lock may have a constant for: manyTries in a simulated lease. In real time a try
// takes some milliseconds, or tens on a busy machine, and leases are short: they grow to longEnough.
const (
	many       = 33 // odd: of random and of PCT schedules alike
	manyTries  = 100
	simulated  = time.Second
	longEnough = 3 * time.Second
)

// drawLoss lets one schedule in four lose a certain message of an operation, or of the renewals
// while its client is inside, and in half of those another client enters before the next message of
// the same: what a lock does after a connection error is seen only where it meets another's hold.
// Drawn among all steps, both seldom meet.
func drawLoss(p sim.Program, b sim.Bounds, r *rand.Rand) (sim.Program, sim.Bounds) {
	losses := slices.DeleteFunc(slices.Clone(b.Faults), func(f string) bool { return f != faults.LoseRequest && f != faults.LoseReply })
	if b.MaxFaults == 0 || len(losses) == 0 || r.IntN(4) > 0 {
		return p, b
	}
	of := []string{"release", "extend", "acquire"}[r.IntN(3)]
	s := faults.Spec{Fault: losses[r.IntN(len(losses))], Client: 1 + r.IntN(p.Clients), When: faults.Trigger{Request: of, Nth: 1 + r.IntN(2)}}
	if s.Fault == faults.LoseReply {
		s.When.Request, s.When.Reply = "", of
	}
	p.Faults = append(slices.Clone(p.Faults), s)
	if b.MaxFaults--; b.MaxFaults > 0 && slices.Contains(b.Faults, faults.DelayRequest) && r.IntN(2) == 0 {
		p.Faults = append(p.Faults, faults.Spec{Fault: faults.DelayRequest, Client: s.Client, Until: faults.OtherEntered,
			For: faults.Span{Leases: 1.5}, When: faults.Trigger{Request: of, Nth: s.When.Nth + 1}})
		b.MaxFaults--
	}
	return p, b
}

// drawRounds draws one of a program's workloads uniformly, and how the clients pace their rounds.
// See Program.Hasty and Program.Renews.
func drawRounds(p sim.Program, r *rand.Rand) sim.Program {
	if n := len(p.Also); n > 0 {
		if i := r.IntN(n + 1); i < n {
			if w, ok := workloads.Find(p.Also[i]); ok {
				p.Load, p.Workload = p.Also[i], w
			}
		}
	}
	if p.Permits > 1 { // with fewer, a permit that is lost keeps others out
		p.Permits = 1 + r.IntN(p.Permits)
		if r.IntN(3) == 0 { // holds that go on when others' leases end
			p.Config.Think = p.Config.Lease * 4 / 5
		}
	}
	if p.Hasty && r.IntN(3) == 0 {
		p.Config.AcquireWait, p.Config.Pause = 0, 2*p.Config.Lease/3
		p.Config.Ops *= 2
	}
	if p.Renews {
		switch r.IntN(3) {
		case 0:
			p.Config.Pause = 5 * p.Config.Lease
		case 1:
			p.Config.Think, p.Config.Ops = 4*p.Config.Lease, 1
		}
	}
	p.Also, p.Hasty, p.Renews = nil, false, false
	return p
}

func standingFault(fault string, p sim.Program, r *rand.Rand) faults.Spec {
	s := faults.Spec{Fault: fault, Client: 1 + r.IntN(p.Clients)}
	kind, _ := faults.FindKind(fault)
	switch {
	case kind.Needs("by"):
		s.By = faults.Span{Leases: 2, Fixed: 2 * time.Second}
		if r.IntN(2) == 0 {
			s.By = faults.Span{Leases: -2, Fixed: -2 * time.Second}
		}
	case kind.Needs("for"):
		s.Client, s.For = 1, faults.Span{Leases: 1.5}
	case kind.On != faults.OneClient:
		s.Client = 0
	}
	return s
}
