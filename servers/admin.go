package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// adminTimeout bounds one administrative command. A cluster's node writes its configuration to disk
// first, which takes seconds if the disk is busy.
const adminTimeout = 20 * time.Second

type dialer func(ctx context.Context) (net.Conn, error)

// newAdmin opens the harness's client of a server: one connection, no retries. The caller closes
// it.
func newAdmin(ctx context.Context, dial dialer) (*redis.Client, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	// Dial first and allow many connections: after as many failed dials as the pool's size,
	// go-redis dials on in the background, even after Close.
	once := make(chan net.Conn, 1)
	once <- resp.Bound(conn)
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", // ignored by Dialer
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-once:
				return conn, nil
			default:
				return nil, errors.New("the connection was lost")
			}
		},
		Protocol:                 2,
		PoolSize:                 100,
		MaxRetries:               -1,
		DialerRetries:            1,
		ReadTimeout:              adminTimeout,
		WriteTimeout:             adminTimeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}), nil
}

// Admin opens an administrative client of a node, without a proxy and retries. The caller closes
// it. Errors are those of Deployment.Dial.
func Admin(ctx context.Context, d Deployment, node int) (*redis.Client, error) {
	return newAdmin(ctx, to(d, node))
}

func do(ctx context.Context, dial dialer, words ...any) (any, error) {
	a, err := newAdmin(ctx, dial)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	reply, err := a.Do(ctx, words...).Result()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", words[0], err)
	}
	return reply, nil
}

func infoFields(ctx context.Context, dial dialer, section string) (map[string]string, error) {
	reply, err := do(ctx, dial, "INFO", section)
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	return infoLines(text), nil
}

func infoLines(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// recordedSettings are the server settings in the run record.
var recordedSettings = []string{"save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy"}

func describe(ctx context.Context, dial dialer, into *history.Server) error {
	a, err := newAdmin(ctx, dial)
	if err != nil {
		return err
	}
	defer a.Close()
	if into.Config, err = settings(ctx, a, recordedSettings...); err != nil {
		return err
	}
	fields, err := infoFields(ctx, dial, "server")
	into.Make, into.Version = makeOf(fields)
	return err
}

// settings returns settings of a server by their names.
func settings(ctx context.Context, a redis.Cmdable, names ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range names {
		got, err := a.ConfigGet(ctx, name).Result()
		if err != nil {
			return nil, fmt.Errorf("CONFIG GET %s: %w", name, err)
		}
		all[name] = got[name]
	}
	return all, nil
}

// makeOf returns the make of a server and its version, from the fields of INFO. Servers that speak
// Redis' protocol report the version of Redis that they are compatible with beside their own.
func makeOf(fields map[string]string) (name, version string) {
	for _, other := range []struct{ name, field string }{
		{"Valkey", "valkey_version"}, {"Dragonfly", "dragonfly_version"}, {"Garnet", "garnet_version"}, {"Kvrocks", "kvrocks_version"},
	} {
		if v := fields[other.field]; v != "" {
			return other.name, strings.TrimPrefix(v, "df-v")
		}
	}
	return "Redis", fields["redis_version"]
}
