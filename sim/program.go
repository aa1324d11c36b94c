package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/workloads"
)

// Program describes a run: a lock, what its clients do, the servers, and the faults placed in
// advance. With a tape it determines a run completely.
//
// Lock and Load are the names by which the variant and the workload are found when a program is
// read from a file or sent to a worker process; a program that stays in its process does not need
// them. Durations are in nanoseconds in files.
type Program struct {
	Lock string   `json:"lock"`
	Load string   `json:"workload"`
	Also []string `json:"also,omitempty"` // workloads that a schedule of a random search may run instead
	// in a third of those, clients use Try, to expose refusals without reason
	Hasty bool `json:"hasty,omitempty"`
	// it may renew by itself: in a third of those, clients idle five leases after each round, to
	// expose leaked holds; in another they work four leases for one, to expose renewals that end
	Renews   bool                `json:"renews,omitempty"`
	Variant  impls.Variant       `json:"-"`
	Workload *workloads.Workload `json:"-"`
	Config   workloads.Config    `json:"config"`
	Clients  int                 `json:"clients"` // 1 to 64; 0 means 2

	Topology impls.Topology `json:"topology,omitempty"` // what the lock runs on; "" means the variant's own
	// of independent masters, 0 means 5; a primary and its replicas, 0 means 2; a cluster's three
	// masters and their replicas
	Nodes int `json:"nodes,omitempty"`
	// between attempts of waiters that poll; 0 means a fifth of the lease
	Poll    time.Duration `json:"poll,omitempty"`
	Permits int           `json:"permits,omitempty"` // of a semaphore; 0 means 1
	Timeout time.Duration `json:"timeout,omitempty"` // for one reply; 0 means three seconds

	Persistence impls.Persistence `json:"persistence,omitempty"` // "" means none
	// placed in advance; those that a strategy may add are in its Bounds
	Faults []faults.Spec `json:"faults,omitempty"`
	Length time.Duration `json:"length,omitempty"` // after which no new round begins; 0 means never
	// commands, of all clients, after which no new round begins once no fault is under way; 0 means
	// never
	Enough int `json:"enough,omitempty"`
	// of virtual time, after which clients that still run are stuck; 0 means 60 leases, at least a
	// minute
	Horizon time.Duration `json:"horizon,omitempty"`
	Seed    uint64        `json:"seed"` // of tokens, jitter and what faults leave open
}

// PollsPerLease is the default number of polls per lease.
const PollsPerLease = 5

// MaxClients is how many clients a program has at most.
const MaxClients = 64

func (p Program) withDefaults() Program {
	p.Clients = cmp.Or(p.Clients, 2)
	p.Topology = cmp.Or(p.Topology, p.Variant.Topology, impls.Standalone)
	switch {
	case p.Topology == impls.Cluster:
		p.Nodes = max(p.Nodes, impls.ClusterMasters)
	case p.Topology == impls.Replicated:
		p.Nodes = max(p.Nodes, 2)
	case p.Topology != impls.Independent:
		p.Nodes = 1
	case p.Nodes == 0:
		p.Nodes = 5
	}
	p.Poll = cmp.Or(p.Poll, p.Config.Lease/PollsPerLease)
	p.Permits = cmp.Or(p.Permits, 1)
	p.Horizon = cmp.Or(p.Horizon, max(60*p.Config.Lease, time.Minute))
	return p
}

// Catalogue finds locks by name, for programs read from a file or sent to a worker, and names the
// scripts of recorded commands. impls/catalogue.Known is lockbench's own; a nil Catalogue is empty,
// which is enough for a program that carries its Variant.
type Catalogue interface {
	Find(name string) (impls.Variant, bool)
	ScriptNames() map[string]string // by SHA-1 digest
}

// Resolve returns the program with its lock and workload, by name if it does not carry them, and
// with what it leaves open.
func (p Program) Resolve(known Catalogue) (Program, error) {
	if p.Variant.New == nil && known != nil {
		p.Variant, _ = known.Find(p.Lock)
	}
	if p.Variant.New == nil {
		return p, fmt.Errorf("program: no lock is called %q", p.Lock)
	}
	if p.Workload == nil {
		w, ok := workloads.Find(p.Load)
		if !ok {
			return p, fmt.Errorf("program: no workload is called %q", p.Load)
		}
		p.Workload = w
	}
	p.Lock, p.Load = p.Variant.Name, p.Workload.Name()
	p = p.withDefaults()
	switch {
	case p.Clients < 1 || p.Clients > MaxClients:
		return p, fmt.Errorf("program: %d clients, want 1 to %d", p.Clients, MaxClients)
	case p.Config.Lease <= 0:
		return p, fmt.Errorf("program: lease %v, want more than 0", p.Config.Lease)
	}
	for _, f := range p.Faults {
		if err := inRange(f.Fault, f, p.setting()); err != nil {
			return p, fmt.Errorf("program: %w", err)
		}
	}
	return p, nil
}

// WithLease returns the program with another lease, and its other times in proportion.
func (p Program) WithLease(lease time.Duration) Program {
	ratio := float64(lease) / float64(p.Config.Lease)
	for _, d := range []*time.Duration{&p.Config.Think, &p.Config.Pause, &p.Config.AcquireWait} {
		*d = time.Duration(float64(*d) * ratio)
	}
	p.Config.Lease = lease
	return p
}

// DefaultProgram returns a small program for a lock of this kind: two clients, three rounds each, a
// lease of a second, work of a fifth of it, and polls soon after the lease ends. A lock that can
// extend is also held for longer than its lease, by readers if it has them, and tried without
// waiting; one that renews itself also rests, or works for several leases; a queue has three
// clients, so that one can wait behind another.
func DefaultProgram(v impls.Variant) Program {
	lease := time.Second
	p := Program{Lock: v.Name, Load: "counter", Variant: v, Clients: 2, Config: workloads.Config{
		Ops: 3, Lease: lease, Think: lease / 5, Pause: lease / 50, AcquireWait: 3 * lease,
	}}
	switch v.Kind {
	case history.RW:
		p.Load, p.Clients, p.Config.Ops = "read-mostly", 3, 2
	case history.Reentrant:
		p.Load = "nested"
	case history.Semaphore:
		p.Load, p.Clients, p.Permits = "hot", 3, 2
	}
	if v.Traits.Extends {
		p.Also = []string{"long-hold"}
	}
	if v.Traits.Extends && v.Kind == history.RW {
		p.Also, p.Hasty = append(p.Also, "long-reads"), true
	}
	p.Renews = v.Traits.SelfRenewing
	if v.Traits.FIFO {
		p.Clients = 3
	}
	return p
}

// setting returns what limits the faults of a program. Before the program is resolved, its topology
// may be the lock's own.
func (p Program) setting() faults.Setting {
	s := faults.Setting{Clients: p.withDefaults().Clients, Nodes: faults.MaxNodes, Lease: p.Config.Lease, Topology: p.Topology}
	if p.Topology != "" {
		s.Nodes = p.withDefaults().Nodes
	}
	return s
}

// inRange checks that a fault is known and that its client and node exist.
func inRange(path string, f faults.Spec, in faults.Setting) error {
	if _, ok := faults.FindKind(f.Fault); !ok {
		return fmt.Errorf("%s: %s", path, foreign.Unknown("fault", f.Fault, Placeable()))
	}
	if f.Client < 0 || f.Client > in.Clients {
		return fmt.Errorf("%s: client %d: must be between 0 and %d", path, f.Client, in.Clients)
	}
	if f.Node < 0 || f.Node > in.Nodes {
		return fmt.Errorf("%s: node %d: must be between 0 and %d", path, f.Node, in.Nodes)
	}
	return nil
}

// Placeable lists the faults that a search can place, by name.
func Placeable() []string {
	return slices.Sorted(slices.Values(faults.Names(func(k faults.Kind) bool { return k.Placed != faults.NotPlaced })))
}

// IsStanding reports whether a fault is in force from the start of a run. A random or PCT search
// draws it in advance; an exhaustive one cannot.
func IsStanding(fault string) bool {
	kind, _ := faults.FindKind(fault)
	return kind.Placed == faults.BeforeSearch
}

// DefaultFaults returns the faults that a lock with these traits must survive: any fault of its
// clients and messages, and of a minority of its nodes or the primary of a pair. Faults that no
// such lock survives, such as the loss of a single server's data, must be requested.
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
	if v.Topology == impls.Replicated { // a lock that uses a pair must survive the loss of its primary
		out = append(out, faults.Failover)
	}
	return out
}

// Bounds limits what a search may do besides ordering messages.
type Bounds explored.Bounds

const defaultMaxSteps = 2000

// delaysPerLease is how many of the longest delays of a search fit into a lease, unless it says
// otherwise.
const delaysPerLease = 20

// WithDefaults returns the bounds for a program, with what they leave open.
func (b Bounds) WithDefaults(p Program) Bounds {
	b.MaxDelay = cmp.Or(b.MaxDelay, p.Config.Lease/delaysPerLease)
	b.MaxSteps = cmp.Or(b.MaxSteps, defaultMaxSteps)
	if len(b.Faults) == 0 {
		b.MaxFaults = 0
	}
	b.Faults = slices.Sorted(slices.Values(b.Faults))
	b.Clients, b.Ops = p.Clients, p.Config.Ops
	return b
}
