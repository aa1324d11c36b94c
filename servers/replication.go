package servers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// needPair returns ErrRefused unless the topology is a replicated pair.
func (f *fleet) needPair(what string) error {
	if f.spec.Topology != impls.Replicated {
		return fmt.Errorf("%s: %s has no replica: %w", what, f.spec.Topology, ErrRefused)
	}
	return nil
}

// Promote makes the replica the primary, to which Dial(0) then connects. An old primary that comes back follows it only after SetReplication(true).
func (f *fleet) Promote(ctx context.Context) (int, error) {
	if err := f.needPair("promote"); err != nil {
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
	if err := f.on(next, "promote", promote, running); err != nil {
		return f.primary, err
	}
	f.primary, f.flowing = next, false
	return next, nil
}

// SetReplication cuts or restores replication. When cut, the replica keeps its data; when restored, the primary's data replace them.
func (f *fleet) SetReplication(ctx context.Context, flowing bool) error {
	if err := f.needPair("set replication"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	replica := 1 - f.primary
	if flowing {
		f.flowing = true
		return f.follow(ctx, replica, f.primary)
	}
	f.flowing = false
	return f.on(replica, "cut replication of", func(n *node) error { return n.detach(ctx) }, running)
}

// rejoinPair makes the replica follow again after a restart of either server, unless replication is cut.
func (f *fleet) rejoinPair(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	replica, primary := f.nodes[1-f.primary], f.nodes[f.primary]
	if !f.flowing || !replica.isRunning() || !primary.isRunning() {
		return nil
	}
	return f.follow(ctx, 1-f.primary, f.primary)
}

// follow makes one server the replica of another and waits until it is in sync and confirms writes.
func (f *fleet) follow(ctx context.Context, replica, primary int) error {
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
		return poll(ctx, "confirm the primary's writes", func() (bool, error) { return n.confirmed(ctx) })
	})
}

// confirmed reports whether a replica confirms a write within a second. After a full copy, the primary sends nothing, not even WAIT's request for a
// confirmation, until the replica has reported its offset, which replicas do once a second.
func (n *node) confirmed(ctx context.Context) (bool, error) {
	a, err := newAdmin(ctx, n.dial)
	if err != nil {
		return false, err
	}
	defer a.Close()
	if err := a.Publish(ctx, "lockbench", "").Err(); err != nil { // WAIT counts from the last write of its connection
		return false, fmt.Errorf("PUBLISH: %w", err)
	}
	replicas, err := a.Wait(ctx, 1, time.Second).Result()
	if err != nil {
		return false, fmt.Errorf("WAIT: %w", err)
	}
	return replicas >= 1, nil
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
