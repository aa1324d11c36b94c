package faults

import (
	"context"
	"fmt"
	"maps"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// failover kills the primary of a pair and promotes its replica.
//
// With For or Until it cuts the replication first: what is granted from then on the replica does not learn, and the end of the fault is
// the failover. Without, it kills the primary at once, while replication flows, and the replica has what had reached it.
//
// Either way it tells whether the replica had the lock's key when it took over.
type failover struct{}

func (failover) Name() string { return Failover }

func (failover) Available(f Field) error {
	if f.Servers != nil && f.Servers.Topology() != impls.Replicated {
		return fmt.Errorf("%w: a failover needs a replicated pair, this is %s", servers.ErrRefused, f.Servers.Topology())
	}
	return nil
}

func (failover) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	t := &takeover{field: f}
	e := Effect{Node: 0, Replica: func() string { return t.replica }}
	if !s.lasts() {
		e.Note = "while replication flowed"
		err := t.atOnce(ctx)
		e.Confirmed = err == nil
		return e, err
	}
	if err := f.Servers.SetReplication(ctx, false); err != nil {
		return e, err
	}
	e.Confirmed, e.Note, e.Heal = true, "from the end of replication to the promotion of the replica", t.afterCut
	return e, nil
}

// takeover is the end of a primary and the rise of its replica.
type takeover struct {
	field   Field
	replica string // see history.Window
}

// The nodes of a pair by role, and the one that is killed by its number.
const (
	thePrimary = 0
	theReplica = 1
)

// atOnce kills the primary before anything else: whoever looks at it first gives the replica time to catch up. Nothing says then what
// the primary had. Where the fault strikes at the first grant of a run, a key on the replica is that grant's.
func (t *takeover) atOnce(ctx context.Context) error {
	err := t.field.Servers.Kill(ctx, thePrimary)
	if err == nil {
		err = t.field.Servers.SetReplication(ctx, false)
	}
	if err != nil {
		return err
	}
	if has, err := t.contents(ctx, theReplica); err == nil {
		t.replica = history.ReplicaHad(len(has) > 0)
	}
	_, err = t.field.Servers.Promote(ctx)
	return err
}

// afterCut compares what the two have, which nothing changes any more but clients on the primary, and then kills that.
func (t *takeover) afterCut(ctx context.Context) error {
	lock, err := t.contents(ctx, thePrimary)
	if kerr := t.field.Servers.Kill(ctx, thePrimary); kerr != nil {
		return kerr
	}
	if has, rerr := t.contents(ctx, theReplica); err == nil && rerr == nil && len(lock) > 0 {
		t.replica = history.ReplicaHad(maps.Equal(lock, has))
	}
	_, err = t.field.Servers.Promote(ctx)
	return err
}

// contents is what a node holds of the lock: each key with its value as DUMP gives it, which leaves out when it ends.
func (t *takeover) contents(ctx context.Context, node int) (map[string]string, error) {
	if t.field.Keys == nil {
		return nil, servers.ErrMissing
	}
	keys, err := t.field.Keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c, err := servers.Admin(ctx, t.field.Servers, node)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	has := map[string]string{}
	for _, key := range keys {
		dump, err := c.Dump(ctx, key).Result()
		if err != nil && err != redis.Nil { // a lease that has ended meanwhile
			return nil, fmt.Errorf("DUMP %q: %w", key, err)
		}
		if err == nil {
			has[key] = dump
		}
	}
	return has, nil
}
