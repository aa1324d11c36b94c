package catalogue_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/impls/internal/redistest"
	"github.com/lockbench/lockbench/internal/resp"
)

// party is one implementation of Redis.
type party struct {
	name  string
	redis *redis.Client
	// codes: a script that fails answers with the code of the command that failed, as Redis 7 does.
	// miniredis answers ERR to all.
	codes bool
}

// parties are redis-server, miniredis, and the simulator's node, which runs scripts by itself. The
// first is the reference.
func parties(t *testing.T) []party {
	t.Helper()
	mini := miniredis.RunT(t)
	mini.ClockTTL(true)
	return []party{
		{"redis-server", connect(t, redistest.NewReal(t).Addr, nil), true},
		{"miniredis", connect(t, mini.Addr(), nil), false},
		{"the simulator", connect(t, "127.0.0.1:1", simulated(t)), true},
	}
}

// connect speaks RESP2, in which a script's values go through unchanged, over one connection.
func connect(t *testing.T, addr string, dial func(context.Context, string, string) (net.Conn, error)) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Dialer: dial, Protocol: 2, PoolSize: 1, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// simulated dials a node of the simulator. Each connection has a goroutine, which ends with it.
func simulated(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	node, err := fakeredis.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server, node)
		return client, nil
	}
}

func serve(c net.Conn, node *fakeredis.Server) {
	defer c.Close()
	var requests resp.Requests
	buf := make([]byte, 1<<16)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		requests.Feed(buf[:n])
		for {
			q, ok := requests.Next()
			if !ok {
				break
			}
			args := make([]string, q.Len())
			for i := range args {
				args[i] = string(q.Arg(i))
			}
			if _, err := c.Write(node.Do(time.Now(), args)); err != nil {
				return
			}
		}
	}
}

// reply returns a party's reply: types and values, and the code of an error.
func (p party) reply(args []any) string {
	v, err := p.redis.Do(context.Background(), args...).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "nil"
	case err != nil:
		code, _, _ := strings.Cut(err.Error(), " ")
		if strings.Contains(err.Error(), "unknown command") {
			return unknownCommand
		}
		return failed + code
	}
	return show(v)
}

const (
	unknownCommand = "unknown command"
	failed         = "error "
)

// show formats a reply so that different values have different texts.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = show(x)
		}
		return "[ " + strings.Join(parts, " ") + " ]"
	}
	return fmt.Sprintf("%T %v", v, v)
}

// dump is all keys with type, content and remaining milliseconds, by name. What has no order of its
// own is sorted.
func (p party) dump() []string {
	ctx := context.Background()
	keys := p.redis.Keys(ctx, "*").Val()
	slices.Sort(keys)
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		kind := p.redis.Type(ctx, k).Val()
		content := ""
		switch kind {
		case "string":
			content = p.reply([]any{"get", k})
		case "hash":
			content = fmt.Sprintf("%q", p.redis.HGetAll(ctx, k).Val()) // maps are printed in order of key
		case "list":
			content = p.reply([]any{"lrange", k, 0, -1})
		case "set":
			members := p.redis.SMembers(ctx, k).Val()
			slices.Sort(members)
			content = fmt.Sprintf("%q", members)
		case "zset":
			content = p.scores(k)
		}
		out = append(out, fmt.Sprintf("%s %s %s left %s", k, kind, content, p.reply([]any{"pttl", k})))
	}
	return out
}

// scores are the members of a sorted set by name: the order of two whose scores are times a
// millisecond apart is the machine's.
func (p party) scores(key string) string {
	var members []string
	for _, z := range p.redis.ZRangeWithScores(context.Background(), key, 0, -1).Val() {
		members = append(members, fmt.Sprintf("%q %s", z.Member, strconv.FormatFloat(z.Score, 'f', -1, 64)))
	}
	slices.Sort(members)
	return strings.Join(members, " ")
}
