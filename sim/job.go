package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// Strategies by name.
const (
	Exhaustive = "exhaustive" // every schedule within the bounds
	Random     = "random"     // uniform choices
	PCT        = "pct"        // priorities with a few changes
	Mixed      = "mixed"      // random and PCT in turn
)

// job is a search, or the part of one that a worker does.
type job struct {
	Program   Program  `json:"program"`
	Bounds    Bounds   `json:"bounds"`
	Strategy  string   `json:"strategy"`
	Seed      uint64   `json:"seed"`
	Part      int      `json:"part"`  // this worker's number, from 0
	Parts     int      `json:"parts"` // of so many
	Schedules int      `json:"schedules,omitempty"`
	First     int      `json:"first,omitempty"`  // number of the first schedule; later ones are Parts apart
	Prefix    []int    `json:"prefix,omitempty"` // of an exhaustive schedule that is run again
	Echo      bool     `json:"echo,omitempty"`   // report every choice as it is made: a schedule that kills its process is run again so
	All       bool     `json:"all,omitempty"`    // go on after a finding
	Seek      []string `json:"seek,omitempty"`   // what alone is a finding: "property" or "property/cause"
}

// seeks reports whether something broken is a finding of the job.
func (j job) seeks(b broken) bool {
	if b.Excepted {
		return false
	}
	return len(j.Seek) == 0 || slices.Contains(j.Seek, b.key()) || slices.Contains(j.Seek, string(b.Property))
}

// schedule is one schedule of a job, settled by the job's seed and its number.
type schedule struct {
	program  Program
	bounds   Bounds
	strategy chooser
}

// settle makes schedule number n of a job of random or PCT schedules. length is how many steps the program takes by default.
func (j job) settle(n, length int) schedule {
	seed := j.Seed<<20 + uint64(n)
	r := rand.New(rand.NewPCG(seed, 4))
	p, b := j.Program, j.Bounds
	p.Seed = seed
	p, b = vary(p, b, r)
	if j.Strategy == PCT || (j.Strategy != Random && n%2 == 1) {
		return schedule{p, b, newPCT(seed, b, p.Clients, length)}
	}
	return schedule{p, b, newRandom(seed, b, length)}
}

// Placeable lists the faults that a search can place, by name.
func Placeable() []string {
	return slices.Sorted(slices.Values(faults.Names(func(k faults.Kind) bool { return k.Placed != faults.NotPlaced })))
}

// IsStanding reports whether a fault is a state of affairs from the start. A random or PCT search draws it before a schedule begins; an
// exhaustive one cannot place it.
func IsStanding(fault string) bool {
	kind, _ := faults.FindKind(fault)
	return kind.Placed == faults.BeforeSearch
}

// vary draws the workload of a schedule, and its standing faults. Each of these counts as one of the faults that the schedule may have.
func vary(p Program, b Bounds, r *rand.Rand) (Program, Bounds) {
	p = drawHabit(draw(p, r), r)
	var strikes []string
	for _, f := range b.Faults {
		if !IsStanding(f) {
			strikes = append(strikes, f)
			continue
		}
		if b.MaxFaults > 0 && r.IntN(2) == 0 {
			p.Faults = append(slices.Clone(p.Faults), stand(f, p, r))
			b.MaxFaults--
		}
	}
	b.Faults = strikes
	return p, b
}

// draw picks one of the workloads of a program, all with equal chance.
func draw(p Program, r *rand.Rand) Program {
	also := p.Also
	p.Also = nil
	if len(also) == 0 {
		return p
	}
	if i := r.IntN(len(also) + 1); i < len(also) {
		if w, ok := workloads.Find(also[i]); ok {
			p.Load, p.Workload = also[i], w
		}
	}
	return p
}

// drawHabit settles in which manner the clients of a schedule go about their rounds. See Program.Hasty and Program.Rests.
func drawHabit(p Program, r *rand.Rand) Program {
	if p.Hasty && r.IntN(3) == 0 {
		p.Config.AcquireWait, p.Config.Pause = 0, 2*p.Config.Lease/3
		p.Config.Ops *= 2
	}
	if p.Rests && r.IntN(3) == 0 {
		p.Config.Pause = 5 * p.Config.Lease
	}
	p.Hasty, p.Rests = false, false
	return p
}

// stand makes one standing fault.
func stand(fault string, p Program, r *rand.Rand) faults.Spec {
	s := faults.Spec{Fault: fault, Client: 1 + r.IntN(p.Clients)}
	switch fault {
	case faults.SkewClient:
		s.By = faults.Span{Leases: 2, Fixed: 2 * time.Second}
		if r.IntN(2) == 0 {
			s.By = faults.Span{Leases: -2, Fixed: -2 * time.Second}
		}
	case faults.SlowWork:
		s.Client, s.For = 1, faults.Span{Leases: 1.5}
	case faults.CollideOwners:
		s.Client = 0
	}
	return s
}

// DefaultFaults are the faults under which a lock of these traits is to keep its promise: whatever may happen to its clients and to
// its messages, and to a minority of its nodes, or to the primary of a pair. Faults that no lock of its kind survives, such as the loss of the data of a single
// server, must be asked for.
func DefaultFaults(v impls.Variant) []string {
	out := []string{
		faults.PauseClient, faults.CrashClient, faults.CancelClient, faults.LoseRequest, faults.LoseReply,
		faults.DelayRequest, faults.DelayReply, faults.SlowWork, faults.FlushScripts,
	}
	if v.Traits.ClientClock {
		out = append(out, faults.SkewClient)
	}
	if v.Traits.LocalOwner {
		out = append(out, faults.CollideOwners)
	}
	if v.Topology == impls.Independent {
		out = append(out, faults.PartitionNodes)
	}
	if v.Traits.Wakeups {
		out = append(out, faults.CutPubSub)
	}
	if v.Topology == impls.Replicated { // its replica is what it needs more than one node for
		out = append(out, faults.Failover)
	}
	return out
}

func (j job) check() error {
	for _, name := range j.Program.Also {
		if _, ok := workloads.Find(name); !ok {
			return fmt.Errorf("explore: no workload is called %q", name)
		}
	}
	switch j.Strategy {
	case Exhaustive, Random, PCT, Mixed:
	default:
		return fmt.Errorf("explore: no strategy is called %q; there are %s, %s, %s and %s", j.Strategy, Exhaustive, Random, PCT, Mixed)
	}
	for _, f := range j.Bounds.Faults {
		if kind, _ := faults.FindKind(f); kind.Placed == faults.NotPlaced {
			return fmt.Errorf("explore: a search cannot place %q; it can place %v", f, Placeable())
		}
	}
	if j.Strategy == Exhaustive {
		for _, f := range j.Bounds.Faults {
			if IsStanding(f) {
				return fmt.Errorf("explore: an exhaustive search cannot place %q, which is there from the start", f)
			}
		}
	}
	return nil
}
