package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

const (
	scanCount = 1000             // keys that a server looks at for one SCAN
	clearTime = 30 * time.Second // for the keys of a run that is over
)

// keys lists the keys on one of the lock's nodes that lie under a prefix, those of the guarded store included when it is the same server.
func (f *field) keys(ctx context.Context, node int, prefix string) ([]string, error) {
	c, err := servers.Admin(ctx, f.lock, node)
	if err != nil {
		return nil, fmt.Errorf("list the run's keys on node %d: %w", node+1, err)
	}
	defer c.Close()
	var keys []string
	scan := c.Scan(ctx, 0, "*"+prefix+"*", scanCount).Iterator()
	for scan.Next(ctx) {
		if impls.Under(prefix, scan.Val()) {
			keys = append(keys, scan.Val())
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("list the run's keys on node %d: %w", node+1, err)
	}
	return keys, nil
}

// clearAway deletes a run's keys from somebody's Redis, however the run ended. Servers of the run's own go as a whole.
func (e Experiment) clearAway(ctx context.Context, f *field) error {
	if e.Provider.Name() != "url" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	for node := range f.lock.Len() {
		keys, err := f.keys(ctx, node, e.Prefix)
		if err == nil {
			err = f.lock.DeleteKeys(ctx, node, keys...)
		}
		if err != nil {
			return fmt.Errorf("keys that begin with %s are left: %w", e.Prefix, err)
		}
	}
	return nil
}
