package peers

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/internal/resp"
)

// meter counts what goes over one client's connections, handshakes included.
type meter struct {
	counting atomic.Bool // while false, bytes pass unread
	requests atomic.Int64
	bytes    atomic.Int64 // both ways
}

// traffic is what a meter has counted.
type traffic struct{ requests, bytes int64 }

func (t traffic) plus(u traffic) traffic {
	return traffic{t.requests + u.requests, t.bytes + u.bytes}
}

// start counts from nothing.
func (m *meter) start() {
	m.requests.Store(0)
	m.bytes.Store(0)
	m.counting.Store(true)
}

// stop gives what was counted.
func (m *meter) stop() traffic {
	m.counting.Store(false)
	return traffic{m.requests.Load(), m.bytes.Load()}
}

func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &metered{Conn: c, meter: m}, nil
}

// metered is a connection under a meter.
type metered struct {
	net.Conn
	meter *meter
	mu    sync.Mutex // protects sent: a pipelining client writes from several goroutines
	sent  resp.Requests
}

func (c *metered) Write(p []byte) (int, error) {
	if c.meter.counting.Load() {
		c.meter.bytes.Add(int64(len(p)))
		c.count(p)
	}
	return c.Conn.Write(p)
}

func (c *metered) count(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.Feed(p)
	for {
		if _, ok := c.sent.Next(); !ok {
			return
		}
		c.meter.requests.Add(1)
	}
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.meter.counting.Load() {
		c.meter.bytes.Add(int64(n))
	}
	return n, err
}
