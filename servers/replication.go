package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// replicasOf returns the numbers of a primary's replicas. A failover promotes the first.
func (f *fleet) replicasOf(node int) (out []int) {
	primaries := f.spec.Topology.Primaries(len(f.nodes))
	for i := node + primaries; i < len(f.nodes) && f.sentinels == nil; i += primaries {
		out = append(out, i)
	}
	return out
}

// heir returns the number of a primary's first replica; ErrRefused if it has none that lockbench
// may promote.
func (f *fleet) heir(node int, what string) (int, error) {
	if all := f.replicasOf(node); len(all) > 0 {
		return all[0], nil
	}
	return 0, fmt.Errorf("%s: %s has no replica: %w", what, f.spec.Topology, ErrRefused)
}

// Promote makes the first replica of a primary the primary, to which Dial(node) then connects, and
// which other replicas follow. An old primary that comes back follows it only after
// SetReplication(true).
func (f *fleet) Promote(ctx context.Context, number int) error {
	heir, err := f.heir(number, "promote")
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	promote := func(n *node) error {
		if err := n.lead(ctx, f.spec.Topology); err != nil {
			return err
		}
		if f.logs == nil {
			return nil
		}
		// The log of the primary goes on with that of this replica, before clients know it.
		files, err := openLog(n.logDir())
		if err != nil {
			return err
		}
		info, err := files[len(files)-1].Stat()
		if err != nil {
			return err
		}
		return f.logs[number].begin(logPart{effect: history.Promoted, dir: n.logDir(), before: files, from: info.Size()})
	}
	if err := f.on(f.roles[heir], "promote", promote, running); err != nil {
		return err
	}
	f.roles[number], f.roles[heir] = f.roles[heir], f.roles[number]
	f.flowing = len(f.replicasOf(number)) > 1
	if f.flowing {
		return f.followAll(ctx, number)
	}
	return nil
}

// SetReplication cuts the replication of a primary to its first replica, or restores all. When cut,
// the replica keeps its data; when restored, the primary's data replace them.
func (f *fleet) SetReplication(ctx context.Context, number int, flowing bool) error {
	heir, err := f.heir(number, "set replication")
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flowing = flowing
	if flowing {
		return f.followAll(ctx, number)
	}
	return f.on(f.roles[heir], "cut replication of", func(n *node) error {
		if f.spec.Topology != impls.Cluster {
			return n.lead(ctx, f.spec.Topology)
		}
		// In a cluster it stays a replica, whose primary refuses its password.
		for _, words := range [][]any{{"CONFIG", "SET", "masterauth", "none"}, {"CLIENT", "KILL", "TYPE", "master"}} {
			if _, err := n.do(ctx, words...); err != nil {
				return err
			}
		}
		return poll(ctx, "lose its primary", func() (bool, error) {
			fields, err := infoFields(ctx, n.dial, "replication")
			return fields["master_link_status"] == "down", err
		})
	}, running)
}

// followAll makes the servers that run the replicas of their primary, and waits until all confirm
// its writes.
func (f *fleet) followAll(ctx context.Context, node int) error {
	var confirm int64
	for _, i := range f.replicasOf(node) {
		if !f.nodes[f.roles[i]].isRunning() {
			continue
		}
		confirm++
		if err := f.follow(ctx, f.roles[i], f.roles[node], confirm); err != nil {
			return err
		}
	}
	return nil
}

// follow makes one server the replica of another and waits until it is in sync and so many replicas
// confirm writes.
func (f *fleet) follow(ctx context.Context, replica, primary int, confirm int64) error {
	host, port := f.nodes[primary].peer()
	if f.sentinels != nil { // by the address that the sentinels have, too
		var text string
		host, text, _ = strings.Cut(f.sentinels.Known(primary), ":")
		port, _ = strconv.Atoi(text) // it is that of a listener
	}
	words := []any{"REPLICAOF", host, port}
	if f.spec.Topology == impls.Cluster {
		id, err := f.nodes[primary].do(ctx, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		words = []any{"CLUSTER", "REPLICATE", id}
	}
	err := f.on(replica, "replicate to", func(n *node) error {
		if _, err := n.do(ctx, words...); err != nil {
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

// confirmed reports whether so many replicas confirm a write within a second. After a full copy,
// the primary sends nothing, not even WAIT's request for a confirmation, until the replica has
// reported its offset, which replicas do once a second.
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

// lead makes a replica a primary. In a cluster it does not wait until the others agree, as they
// would after the node timeout.
func (n *node) lead(ctx context.Context, t impls.Topology) error {
	words := []any{"REPLICAOF", "NO", "ONE"}
	if t == impls.Cluster {
		words = []any{"CLUSTER", "FAILOVER", "TAKEOVER"}
	}
	if _, err := n.do(ctx, words...); err != nil {
		return err
	}
	return poll(ctx, "become a primary", func() (bool, error) {
		fields, err := infoFields(ctx, n.dial, "replication")
		return fields["role"] == "master", err
	})
}
