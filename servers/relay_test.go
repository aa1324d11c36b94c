package servers_test

import (
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/servers"
)

// One address leads to the primary of the moment, and to nobody while there is none.
func TestRelayFollowsThePrimary(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, pair), t.Context()
		r, err := servers.NewRelay(d, 0)
		must(t, err)
		t.Cleanup(func() { must(t, r.Close()) })
		c := redis.NewClient(&redis.Options{Addr: r.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		t.Cleanup(func() { c.Close() })
		must(t, c.Set(ctx, "k", "first", 0).Err())
		eventually(t, "the replica gets the key", func() bool { return has(t, d, 1, "k") })
		must(t, d.Kill(ctx, 0))
		for _, connection := range []string{"the open one", "a new one"} {
			if c.Get(ctx, "k").Err() == nil {
				t.Errorf("a killed primary answers on %s", connection)
			}
		}
		_, err = d.Promote(ctx)
		must(t, err)
		must(t, c.Set(ctx, "k", "second", 0).Err())
		if got := client(t, d, 0).Get(ctx, "k").Val(); got != "second" {
			t.Errorf("the promoted server has %q", got)
		}
	})
}

// Close ends what is open, idle connections too; goleak watches the rest.
func TestRelayCloses(t *testing.T) {
	t.Parallel()
	d := start(t, servers.Miniredis{}, alone)
	r, err := servers.NewRelay(d, 0)
	must(t, err)
	conn, err := net.Dial("tcp", r.Addr())
	must(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	must(t, err)
	reply := make([]byte, 7)
	_, err = conn.Read(reply)
	must(t, err)
	if string(reply) != "+PONG\r\n" {
		t.Errorf("reply %q", reply)
	}
	must(t, r.Close())
	if _, err := conn.Read(reply); err == nil {
		t.Error("the connection outlived the relay")
	}
	must(t, r.Close())
	if _, err := servers.NewRelay(d, 1); err == nil {
		t.Error("a relay to node 1 of 1")
	}
}
