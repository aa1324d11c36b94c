package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/servers"
)

// Field is what faults of the network and of servers are done to.
type Field struct {
	Servers servers.Deployment // the lock's
	Proxy   *Proxy             // between every client and every node; nil when the run has no fault of the network
	Lease   time.Duration
	// Keys lists what the lock keeps on a node, for delete-key and evict-keys.
	Keys func(ctx context.Context, node int) ([]string, error)
	// NilGrants tells that a script of the lock answers nil when it did write.
	NilGrants bool
}

// Effect is a fault in force.
type Effect struct {
	Node      int    // from 0; -1 = none
	Client    string // "" = none
	Confirmed bool   // it was seen to take
	Note      string // what was measured
	// Replica tells of a failover, once the replica has taken over, what it had of the lock: see history.Window. nil for other faults.
	Replica func() string
	// Heal ends it and returns when that was seen. nil: there is nothing to end.
	Heal func(ctx context.Context) error
}

// replica is what Replica tells.
func (e Effect) replica() string {
	if e.Replica == nil {
		return ""
	}
	return e.Replica()
}

// Injector does one fault of the network or of servers.
type Injector interface {
	// Name is the fault's name in the vocabulary.
	Name() string
	// Available tells why the fault cannot be done to a field; nil when nothing is known against it.
	Available(f Field) error
	// Inject brings the fault into force, and returns when it is.
	Inject(ctx context.Context, f Field, s Spec) (Effect, error)
}

// Injectors lists the injectors of the network and of servers. Faults of single requests and replies are rules of the proxy, see
// [Injections]; faults of clients are the Director's.
func Injectors() []Injector {
	return []Injector{
		slowNetwork{}, blackholeClient{}, partitionNodes{}, cutPubSub{},
		killServer{}, pauseServer{}, failover{}, jumpClock{}, driftClock{}, flushScripts{}, deleteKey{}, evictKeys{},
	}
}

// FindInjector looks an injector up by the fault's name.
func FindInjector(name string) (Injector, bool) {
	for _, i := range Injectors() {
		if i.Name() == name {
			return i, true
		}
	}
	return nil, false
}

// IsFrameFault tells the faults of single requests and replies.
func IsFrameFault(name string) bool {
	switch name {
	case LoseRequest, LoseReply, DelayRequest, DelayReply:
		return true
	}
	return false
}

// NeedsProxy tells the faults for which clients must dial through a Proxy.
func NeedsProxy(name string) bool {
	switch name {
	case SlowNetwork, BlackholeClient, PartitionNodes, CutPubSub:
		return true
	}
	return IsFrameFault(name)
}

// IsServerFault tells the faults that are done to servers.
func IsServerFault(name string) bool {
	_, injected := FindInjector(name)
	return injected && !NeedsProxy(name)
}

// clientName is the name of the client with a number from 1.
func clientName(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("c%d", number)
}

func needProxy(f Field) error {
	if f.Proxy == nil {
		return fmt.Errorf("%w: no proxy between clients and nodes", servers.ErrMissing)
	}
	return nil
}

// nodesOf lists the nodes, from 0, that a spec means: one, or all of them.
func nodesOf(f Field, s Spec) []int {
	if s.Node > 0 {
		return []int{s.Node - 1}
	}
	all := make([]int, f.Servers.Len())
	for i := range all {
		all[i] = i
	}
	return all
}

// oneNode gives the number, from 0, of the node that a spec means.
func oneNode(s Spec) int { return max(s.Node, 1) - 1 }
