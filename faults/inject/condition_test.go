package inject

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// A blocked link delivers what it held when the block ends, and nothing before.
func TestProxyBlackHole(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	write(t, conn, "PING\r\n")
	read(t, conn, 7)
	lift := r.proxy.impose(condition{Client: 1, Node: faults.All, Block: true})
	if !r.proxy.settled(t.Context()) {
		t.Fatal("not settled")
	}
	write(t, conn, "SET a 1\r\n")
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var op *net.OpError
	if _, err := r.link.Dial(short); !errors.As(err, &op) || op.Op != "dial" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialling meanwhile: %v", err)
	}
	if r.node.Exists("a") {
		t.Error("it reached the node")
	}
	lift()
	lift()
	if got := read(t, conn, 5); got != "+OK\r\n" || !r.node.Exists("a") {
		t.Errorf("afterwards %q", got)
	}
	r.dial(t)
}

// A link that is blocked once a request is applied: its reply waits.
func TestProxyBlocksAReply(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	blocked := make(chan func(), 1)
	r.decides(func(_ *Message, reply bool) {
		if reply {
			blocked <- r.proxy.impose(condition{Client: faults.All, Block: true})
		}
	})
	write(t, conn, "SET a 1\r\n")
	lift := <-blocked
	if !r.node.Exists("a") {
		t.Error("the request is not applied")
	}
	must(t, conn.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	lift()
	if got := read(t, conn, 5); got != "+OK\r\n" {
		t.Errorf("afterwards %q", got)
	}
}

func TestProxyDelaysAndLimits(t *testing.T) {
	for _, tt := range []struct {
		name      string
		condition condition
		request   string
		reply     int
		low, high time.Duration
	}{
		{"another client's", condition{Client: 2, Node: faults.All, Delay: time.Second}, "PING\r\n", 7, 0, 500 * time.Millisecond},
		{"each way once", condition{Client: 1, Delay: 30 * time.Millisecond}, "PING\r\n", 7, 60 * time.Millisecond, 500 * time.Millisecond},
		{"a pipeline as one", condition{Client: 1, Delay: 150 * time.Millisecond}, "PING\r\nPING\r\nPING\r\n", 21, 300 * time.Millisecond, 590 * time.Millisecond},
		{"1000 bytes at 10 kB/s", condition{Client: 1, Rate: 10_000}, "PING " + strings.Repeat("x", 993) + "\r\n", 1001, 200 * time.Millisecond, 800 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			conn := r.dial(t)
			r.proxy.impose(tt.condition)
			start := time.Now()
			write(t, conn, tt.request)
			read(t, conn, tt.reply)
			if took := time.Since(start); took < tt.low || took > tt.high {
				t.Errorf("took %s, want between %s and %s", took, tt.low, tt.high)
			}
		})
	}
}
