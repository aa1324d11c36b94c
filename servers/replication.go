package servers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// needReplica returns ErrRefused unless the topology is a primary with replicas that no sentinels watch.
func (f *fleet) needReplica(what string) error {
	if f.spec.Topology != impls.Replicated {
		return fmt.Errorf("%s: %s has no replica: %w", what, f.spec.Topology, ErrRefused)
	}
	return nil
}

// Promote makes the first replica the primary, to which Dial(0) then connects, and which other replicas follow. An old primary that comes back
// follows it only after SetReplication(true).
func (f *fleet) Promote(ctx context.Context) (int, error) {
	if err := f.needReplica("promote"); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := 1 - f.primary
	promote := func(n *node) error {
		if err := n.detach(ctx); err != nil {
			return err
		}
		return f.promoteLog(n)
	}
	err := f.on(next, "promote", promote, running)
	if err != nil {
		return f.primary, err
	}
	f.primary, f.flowing = next, len(f.nodes) > 2
	if f.flowing {
		err = f.followAll(ctx)
	}
	return next, err
}

// SetReplication cuts the replication to the first replica, or restores all. When cut, the replica keeps its data; when restored, the primary's data
// replace them.
func (f *fleet) SetReplication(ctx context.Context, flowing bool) error {
	if err := f.needReplica("set replication"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flowing = flowing
	if flowing {
		return f.followAll(ctx)
	}
	return f.on(1-f.primary, "cut replication of", func(n *node) error { return n.detach(ctx) }, running)
}

// rejoinReplicas makes the replicas follow again after a restart of a server, unless replication is cut.
func (f *fleet) rejoinReplicas(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.flowing || !f.nodes[f.primary].isRunning() {
		return nil
	}
	return f.followAll(ctx)
}

// followAll makes all servers that run the replicas of the primary, and waits until all confirm its writes.
func (f *fleet) followAll(ctx context.Context) error {
	var replicas int64
	for i, n := range f.nodes {
		if i == f.primary || !n.isRunning() {
			continue
		}
		replicas++
		if err := f.follow(ctx, i, f.primary, replicas); err != nil {
			return err
		}
	}
	return nil
}

// follow makes one server the replica of another and waits until it is in sync and so many replicas confirm writes.
func (f *fleet) follow(ctx context.Context, replica, primary int, confirm int64) error {
	host, port := f.knownAs(primary)
	err := f.on(replica, "replicate to", func(n *node) error {
		if _, err := n.do(ctx, "REPLICAOF", host, port); err != nil {
			return err
		}
		return poll(ctx, "catch up with its primary", func() (bool, error) {
			fields, err := infoFields(ctx, n.dial, "everything")
			copied := fields["master_link_status"] == "up" && fields["master_port"] == strconv.Itoa(port)
			return copied && (!f.spec.Log || fields["aof_rewrite_in_progress"] == "0" && fields["aof_rewrite_scheduled"] == "0"), err
		})
	}, running)
	if err != nil {
		return err
	}
	return f.on(primary, "", func(n *node) error {
		return poll(ctx, "confirm the primary's writes", func() (bool, error) { return n.confirmed(ctx, confirm) })
	})
}

// confirmed reports whether so many replicas confirm a write within a second. After a full copy, the primary sends nothing, not even WAIT's request for a
// confirmation, until the replica has reported its offset, which replicas do once a second.
func (n *node) confirmed(ctx context.Context, want int64) (bool, error) {
	a, err := newAdmin(ctx, n.dial)
	if err != nil {
		return false, err
	}
	defer a.Close()
	if err := a.Publish(ctx, "lockbench", "").Err(); err != nil { // WAIT counts from the last write of its connection
		return false, fmt.Errorf("PUBLISH: %w", err)
	}
	replicas, err := a.Wait(ctx, int(want), time.Second).Result()
	if err != nil {
		return false, fmt.Errorf("WAIT: %w", err)
	}
	return replicas >= want, nil
}

func (n *node) detach(ctx context.Context) error {
	if _, err := n.do(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	return poll(ctx, "become a primary", func() (bool, error) {
		fields, err := infoFields(ctx, n.dial, "replication")
		return fields["role"] == "master", err
	})
}
