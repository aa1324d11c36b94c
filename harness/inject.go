package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/workloads"
)

// injections are the faults of the network and of servers of one run.
type injections struct {
	network *network // nil when nothing needs it, see needsNetwork
	placed  *faults.Injections

	conductor *faults.Conductor // nil: messages pass as they come
	conduct   context.CancelFunc
	conducted sync.WaitGroup
}

// arm makes ready what the plan does to the network and to servers, and records what is in force from the start.
func (d *drive) arm(ctx context.Context) (*injections, error) {
	d.standingWindows()
	i := &injections{}
	if d.Score != nil {
		i.conductor = faults.NewConductor(d.Score, d.timeline, d.windows.Add)
	}
	if d.needsNetwork() {
		var err error
		if i.network, err = d.openNetwork(i.conductor); err != nil {
			return nil, err
		}
	}
	var err error
	i.placed, err = faults.NewInjections(faults.InjectionsConfig{
		Field: d.faultField(i.network), Timeline: d.timeline, Windows: d.windows.Add, Wait: d.director.Wait,
	}, d.Scenario.Faults)
	if err != nil {
		return nil, errors.Join(err, i.heal())
	}
	d.director.Inject = i.placed.Strike
	i.placed.Start(ctx, d.Scenario.Faults)
	return i, nil
}

// begin lets the conductor lead, once every client has been enlisted.
func (i *injections) begin(ctx context.Context, d *drive) {
	ctx, i.conduct = context.WithCancel(ctx)
	if i.conductor != nil {
		i.conducted.Go(func() { i.conductor.Run(ctx, d.faultField(i.network), d.director) })
	}
}

// needsNetwork tells a run whose clients dial through a proxy: where the network is to fail; and clients in other processes also where a
// server may move to another address, or wants a password. Otherwise there is none: a latency is measured without a proxy.
func (d *drive) needsNetwork() bool {
	return d.Score != nil || d.anyFault(faults.NeedsProxy) || d.As == Processes && (d.anyFault(faults.IsServerFault) || d.Provider.Name() == "url")
}

func (d *drive) faultField(n *network) faults.Field {
	f := faults.Field{Servers: d.field.lock, Lease: d.lease(), Keys: d.lockKeys, NilGrants: d.Variant.Traits.NilGrants}
	if n != nil {
		f.Proxy = n.proxy
	}
	return f
}

// heal ends every fault, and then the network that they were done to.
func (i *injections) heal() error {
	if i.conduct != nil {
		i.conduct()
	}
	i.conducted.Wait()
	err := i.placed.Close()
	if i.network != nil {
		err = errors.Join(err, i.network.proxy.Close())
	}
	return err
}

// standingWindows records the faults that are in force for the whole run.
func (d *drive) standingWindows() {
	for i := range d.Scenario.Clients {
		if skew := d.skew(i); skew != 0 {
			d.standingWindow(faults.SkewClient, i, "clock off by "+skew.String())
		}
		if owner := d.owner(); owner != "" {
			d.standingWindow(faults.CollideOwners, i, "owner id "+owner)
		}
	}
}

// lockKeys lists what the lock keeps on a node: what bears the run's prefix and is not the guarded store's.
func (d *drive) lockKeys(ctx context.Context, node int) ([]string, error) {
	keys, err := d.field.keys(ctx, node, d.prefix)
	return slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, workloads.StorePrefix(d.prefix)) }), err
}

// standingWindow records a fault that is in force for the whole run.
func (d *drive) standingWindow(fault string, client int, note string) {
	d.windows.Add(history.Window{Fault: fault, Client: workloads.ClientName(client), Node: -1, Confirmed: true, Note: note})
}
