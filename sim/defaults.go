package sim

import (
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// DefaultProgram is the small setting in which a lock of this kind shows what it does: two clients, three rounds each, a lease of a
// second, work of a fifth of it, and waiters that look often enough to come in when the lease ends. A lock that can extend is also
// // held for longer than its lease, if it has readers by those, and tried without waiting; one that renews itself is left alone for longer than
// its lease, too; a queue has three clients, without which nobody could wait before another.
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
	if v.Traits.Extends && v.Kind == history.Mutex {
		p.Also = []string{"long-hold"}
	}
	if v.Traits.Extends && v.Kind == history.RW {
		p.Also, p.Hasty = []string{"long-reads"}, true
	}
	p.Rests = v.Traits.SelfRenewing
	if v.Traits.FIFO {
		p.Clients = 3
	}
	return p
}
