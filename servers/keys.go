package servers

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

func to(d Deployment, node int) dialer {
	return func(ctx context.Context) (net.Conn, error) { return d.Dial(ctx, node) }
}

// named records the run's keys in requests to one server. A guest deletes its keys by these names
// instead of scanning the user's server.
type named struct {
	prefix  string // "": record nothing
	derives impls.Deriver

	mu   sync.Mutex // guards keys
	keys map[string]struct{}
}

// note records the keys of a request before it is sent: every argument under the run's prefix,
// since which ones are keys depends on the command.
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
		n.keys[string(arg)] = struct{}{}
	}
	if n.derives == nil || r.Name() != "EVAL" && r.Name() != "EVALSHA" {
		return
	}
	keys, args := r.ScriptCall()
	for _, key := range n.derives.Derived(keys, args) {
		n.keys[key] = struct{}{}
	}
}

func (n *named) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.keys))
}

// deleteKeys deletes one key per command, because the keys of a cluster's node may have different
// slots.
func deleteKeys(ctx context.Context, dial dialer, keys []string) error {
	return eachKey(ctx, dial, keys, func(p redis.Pipeliner, i int) { p.Del(ctx, keys[i]) })
}

const keyBatch = 500

// eachKey sends a command per key over one connection. The error names the first key whose command
// failed.
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
