package inject

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/internal/resp"
)

// rig is a proxy with one link to a node, and what decides about its messages.
type rig struct {
	proxy *Proxy
	link  *Link
	node  *miniredis.Miniredis
	mu    sync.Mutex
	do    func(m *Message, reply bool) // nil: everything passes
}

var _ Traffic = (*rig)(nil)

func (r *rig) Request(m *Message) bool { return r.decide(m, false) }
func (r *rig) Reply(m *Message) bool   { return r.decide(m, true) }

func (r *rig) decide(m *Message, reply bool) bool {
	r.mu.Lock()
	do := r.do
	r.mu.Unlock()
	if do != nil {
		do(m, reply)
	}
	return m.Wait(nil, m.gone) && !m.lost
}

func (r *rig) decides(do func(m *Message, reply bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.do = do
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{node: miniredis.RunT(t)}
	r.proxy = NewProxy(ProxyConfig{Traffic: r})
	t.Cleanup(func() {
		if err := r.proxy.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	var err error
	r.link, err = r.proxy.Open(LinkConfig{Client: 1, Node: 0, Dial: dialTo(r.node.Addr())})
	must(t, err)
	return r
}

func dialTo(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
}

// client is a go-redis client through the link.
func (r *rig) client(t *testing.T, protocol int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.link.Addr(), Protocol: protocol, MaxRetries: -1, DisableIdentity: true, ReadTimeout: 5 * time.Second})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *rig) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := r.link.Dial(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// write sends each line as a request, all in one piece.
func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	var wire []byte
	for line := range strings.Lines(text) {
		wire = resp.AppendRequest(wire, strings.Fields(line)...)
	}
	if _, err := conn.Write(wire); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, conn net.Conn, n int) string {
	t.Helper()
	buf := make([]byte, n)
	must(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	got, err := io.ReadFull(conn, buf)
	if err != nil {
		t.Fatalf("%q, then %v", buf[:got], err)
	}
	return string(buf)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen: %s", what)
		}
	}
}

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
