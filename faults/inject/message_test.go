package inject

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

func TestProxyLosesRequest(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 2)
	r.decides(func(m *Message, reply bool) {
		if !reply && m.Write {
			m.Lose()
		}
	})
	if err := c.Set(t.Context(), "lock", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want EOF", err)
	}
	if r.node.Exists("lock") {
		t.Error("the request is not to reach the node")
	}
}

func TestProxyHolds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reply   bool
		applied bool // while it is held
	}{
		{"a request", false, false},
		{"a reply", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			c := r.client(t, 3)
			held := make(chan faults.Undo, 1)
			r.decides(func(m *Message, reply bool) {
				if reply == tt.reply && m.Command.Name == "SET" {
					held <- m.Hold()
				}
			})
			done := make(chan error, 1)
			go func() { done <- c.Set(t.Context(), "k", "1", 0).Err() }()
			release := <-held
			if r.node.Exists("k") != tt.applied {
				t.Errorf("applied while held: %v", r.node.Exists("k"))
			}
			select {
			case err := <-done:
				t.Errorf("answered while held: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			if err := release(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil || !r.node.Exists("k") {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Faults of single messages are injected where their trigger says, and the end of a connection ends
// the delay of its message.
func TestWatchedTraffic(t *testing.T) {
	r := newRig(t)
	lose := faults.Spec{Fault: faults.LoseReply, Client: 1, When: faults.Trigger{Reply: "acquire *w"}}
	hold := faults.Spec{Fault: faults.DelayRequest, Client: 1, When: faults.Trigger{Request: "release SET"}, For: faults.Span{Fixed: time.Hour}}
	start := time.Now()
	world := NewWorld(Config{Timeline: func() int64 { return int64(time.Since(start)) }})
	world.SetProxy(r.proxy)
	d := faults.NewDirector(faults.NewPlan([]faults.Spec{lose, hold}, time.Second, false),
		faults.DirectorConfig{World: world, Lease: time.Second, Clients: 1})
	watched := Watched{t.Context(), d}
	r.decides(func(m *Message, reply bool) {
		pass := false
		if reply {
			pass = watched.Reply(m)
		} else {
			pass = watched.Request(m)
		}
		if !pass {
			m.Lose()
		}
	})
	c := r.client(t, 3)
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); err != nil {
		t.Errorf("in no acquire: %v", err)
	}
	d.Plan().Reach(1, history.Calling)
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); err != nil {
		t.Errorf("refused, so that it wrote nothing: %v", err)
	}
	if err := c.SetNX(t.Context(), "other", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("granted: %v, want EOF", err)
	}
	if !r.node.Exists("other") {
		t.Error("a request whose reply is lost is to be applied")
	}
	if w := complete(t, d, 1)[0]; w.Fault != faults.LoseReply || w.Client != "c1" || w.Node != 0 || !w.Confirmed {
		t.Errorf("window %+v", w)
	}
	d.Plan().Reach(1, history.BeforeRelease)
	go func() {
		eventually(t, "the delay", d.InForce)
		_ = r.proxy.Close()
	}()
	if err := r.client(t, 3).Set(t.Context(), "k", "1", 0).Err(); err == nil {
		t.Error("the request that is held was answered")
	}
	if w := complete(t, d, 2)[1]; w.Fault != faults.DelayRequest || w.End == 0 {
		t.Errorf("window %+v, want one that ends with the connection", w)
	}
	world.Stop()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestProxyCutsWhoSubscribes(t *testing.T) {
	r := newRig(t)
	lift := r.proxy.impose(condition{Client: faults.All, Node: faults.All, NoSubscribers: true})
	write(t, r.dial(t), "PING\r\n")
	conn := r.dial(t)
	write(t, conn, "SUBSCRIBE free\r\n")
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v; want the end of the connection", n, err)
	}
	lift()
	conn = r.dial(t)
	write(t, conn, "SUBSCRIBE free\r\n")
	read(t, conn, 3)
}
