package inject

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/servers"
)

// The cost of an idle proxy per round trip, compared with the same round trips on a direct
// connection, alternately. The target is a median of 30 µs; a busy machine shows more, so the test
// fails only at ten times that, and only if a direct round trip is fast.
func TestProxyCost(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	node := startServer(t, servers.Spec{Topology: impls.Standalone, Name: "cost"})
	dial := func(ctx context.Context) (net.Conn, error) { return node.Dial(ctx, 0) }
	direct, err := dial(t.Context())
	must(t, err)
	defer direct.Close()
	proxy := NewProxy(ProxyConfig{})
	defer proxy.Close()
	link, err := proxy.Open(LinkConfig{Client: 1, Dial: dial})
	must(t, err)
	through, err := link.Dial(t.Context())
	must(t, err)
	defer through.Close()
	var took [2][]time.Duration
	for range 3000 {
		for i, conn := range []net.Conn{direct, through} {
			took[i] = append(took[i], roundTrip(t, conn))
		}
	}
	a, b := median(took[0]), median(took[1])
	t.Logf("median round trip: direct %s, through the proxy %s: %s more", a, b, b-a)
	if a < 50*time.Microsecond && b-a > 300*time.Microsecond {
		t.Errorf("the proxy adds %s to a round trip, the bar is 30 µs", b-a)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

var ping = resp.AppendRequest(nil, "SET", "key", "0123456789012345678901234567890123456789", "PX", "30000")

func roundTrip(tb testing.TB, conn net.Conn) time.Duration {
	var buf [64]byte
	start := time.Now()
	if _, err := conn.Write(ping); err != nil {
		tb.Fatal(err)
	}
	if n, err := conn.Read(buf[:]); err != nil || string(buf[:n]) != "+OK\r\n" {
		tb.Fatalf("%q, %v", buf[:n], err)
	}
	return time.Since(start)
}
