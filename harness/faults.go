package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/workloads"
)

// arm prepares the faults of the plan and applies those that hold from the start. It runs before
// clients connect.
func (d *serverDriver) arm(ctx context.Context) (err error) {
	d.world = inject.NewWorld(inject.Config{Timeline: d.timeline, Servers: d.servers.lock,
		Keys: func(ctx context.Context, node int) ([]string, error) { // with the run's prefix, and not the guarded store's
			keys, err := d.servers.lock.Keys(ctx, node, d.prefix)
			if err != nil {
				return nil, fmt.Errorf("list the run's keys on node %d: %w", node+1, err)
			}
			return slices.DeleteFunc(keys, workloads.IsStore), nil
		}})
	plan := faults.NewPlan(d.Scenario.Faults, d.lease(), d.Variant.Traits.NilGrants)
	cfg := faults.DirectorConfig{World: d.world, Topology: d.servers.lock.Topology(), Lease: d.lease(), Clients: d.Scenario.Clients}
	if c, ok := d.leader.(*inject.Sequencer); ok {
		cfg.Began, cfg.Ended = c.Began, c.Ended
	}
	d.director = faults.NewDirector(plan, cfg)
	if d.Schedule != nil {
		d.replayer = inject.NewReplayer(d.Schedule, d.timeline)
		d.leader = d.replayer
	}
	var traffic inject.Traffic
	switch {
	case d.leader != nil:
		traffic = d.leader
	case plan.WatchesMessages(0, faults.Underway, faults.Answered):
		traffic = inject.Watched{Context: ctx, Director: d.director}
	}
	// Clients dial through a proxy if network faults are placed, and if locks are children, which
	// dial it. Otherwise there is none, so that it does not add to latencies.
	if d.Schedule != nil || d.Subject.Exec != "" || d.has(faults.Kind.NeedsProxy) {
		if err = d.openNetwork(traffic); err != nil {
			return err
		}
		d.world.SetProxy(d.proxy)
	}
	d.director.Start(ctx)
	return nil
}

func (d *serverDriver) endFaults() error {
	if d.lead != nil {
		d.lead()
	}
	d.leading.Wait()
	d.world.Stop()
	return d.director.Close()
}

func (d *serverDriver) disarm() error {
	err := d.endFaults()
	if d.proxy != nil {
		err = errors.Join(err, d.proxy.Close())
	}
	return err
}
