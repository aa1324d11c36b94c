package servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// scanCount is how many keys a server looks at for one SCAN.
const scanCount = 1000

// scanKeys lists the keys of a server that lie under a prefix.
func scanKeys(ctx context.Context, dial dialer, prefix string) ([]string, error) {
	a, err := newAdmin(ctx, dial)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	var keys []string
	scan := a.Scan(ctx, 0, "*"+prefix+"*", scanCount).Iterator()
	for scan.Next(ctx) {
		if impls.Under(prefix, scan.Val()) {
			keys = append(keys, scan.Val())
		}
	}
	return keys, scan.Err()
}

// named are the keys of a run that requests to one server have named. Who is a guest on a server deletes its keys by these names, and looks
// at no others.
type named struct {
	prefix  string // "" names nothing
	derives impls.Deriver

	mu   sync.Mutex // protects keys
	keys map[string]struct{}
}

// note takes in a request before it is sent. Every argument under the run's prefix counts as a key: which of them are keys depends on the
// command and on its options, and a name under the prefix is nobody else's.
func (n *named) note(r resp.Request) {
	if n.prefix == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := 1; i < r.Len(); i++ {
		arg := r.Arg(i)
		if !bytes.HasPrefix(bytes.TrimPrefix(arg, []byte("{")), []byte(n.prefix)) {
			continue
		}
		if _, known := n.keys[string(arg)]; !known {
			n.keys[string(arg)] = struct{}{}
		}
	}
	if n.derives == nil || r.Name() != "EVAL" && r.Name() != "EVALSHA" {
		return
	}
	keys, args := r.ScriptCall()
	for _, key := range n.derives.Derived(keys, args) {
		n.keys[key] = struct{}{}
	}
}

// all lists the names, in order.
func (n *named) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := make([]string, 0, len(n.keys))
	for key := range n.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// present lists those of the keys that the server has.
func present(ctx context.Context, dial dialer, keys []string) ([]string, error) {
	found := make([]*redis.IntCmd, len(keys))
	err := eachKey(ctx, dial, keys, func(p redis.Pipeliner, i int) { found[i] = p.Exists(ctx, keys[i]) })
	if err != nil {
		return nil, err
	}
	var out []string
	for i, key := range keys {
		if found[i].Val() > 0 {
			out = append(out, key)
		}
	}
	return out, nil
}

// deleteKeys deletes one key per command, because the keys of a cluster's node need not share a slot.
func deleteKeys(ctx context.Context, dial dialer, keys []string) error {
	return eachKey(ctx, dial, keys, func(p redis.Pipeliner, i int) { p.Del(ctx, keys[i]) })
}

// keyBatch is how many commands are sent before their replies are waited for.
const keyBatch = 500

// eachKey sends a command for each key, over one connection. The error names the first key whose command failed.
func eachKey(ctx context.Context, dial dialer, keys []string, send func(p redis.Pipeliner, i int)) error {
	if len(keys) == 0 {
		return nil
	}
	a, err := newAdmin(ctx, dial)
	if err != nil {
		return err
	}
	defer a.Close()
	for from := 0; from < len(keys); from += keyBatch {
		replies, err := a.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := from; i < min(from+keyBatch, len(keys)); i++ {
				send(p, i)
			}
			return nil
		})
		if err == nil {
			continue
		}
		for i, r := range replies {
			if r.Err() != nil {
				return fmt.Errorf("%s %q: %w", strings.ToUpper(r.Name()), keys[from+i], r.Err())
			}
		}
		return err
	}
	return nil
}

// noting is a connection whose requests are noted before they leave.
type noting struct {
	net.Conn
	named    *named
	requests resp.Requests
}

// Write notes the requests in p.
func (c *noting) Write(p []byte) (int, error) {
	c.requests.Feed(p)
	for r, ok := c.requests.Next(); ok; r, ok = c.requests.Next() {
		c.named.note(r)
	}
	return c.Conn.Write(p)
}
