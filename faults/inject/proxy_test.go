package inject

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/faults"
)

func TestProxyPassesEverything(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		r := newRig(t)
		c := r.client(t, protocol)
		ctx := t.Context()
		pipe := c.Pipeline()
		for range 50 {
			pipe.Incr(ctx, "n")
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatalf("RESP%d pipeline: %v", protocol, err)
		}
		big := strings.Repeat("x", 100_000)
		must(t, c.Set(ctx, "big", big, 0).Err())
		if got := c.Get(ctx, "big").Val(); got != big || c.Get(ctx, "n").Val() != "50" {
			t.Errorf("RESP%d: %d bytes came back, n = %s", protocol, len(got), c.Get(ctx, "n").Val())
		}
		sub := c.Subscribe(ctx, "ch")
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		c.Publish(ctx, "ch", "hello")
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
			t.Errorf("RESP%d message %v, %v", protocol, m, err)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestProxyCutsSubscribed(t *testing.T) {
	r := newRig(t)
	plain, sub := r.dial(t), r.dial(t)
	write(t, sub, "SUBSCRIBE ch\r\n")
	read(t, sub, len("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"))
	if n := r.proxy.cutSubscribed(); n != 1 {
		t.Errorf("%d connections cut, want 1", n)
	}
	if n, err := sub.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the subscriber still reads %d, %v", n, err)
	}
	write(t, plain, "PING\r\n")
	read(t, plain, 7)
}

func TestProxyWithoutNode(t *testing.T) {
	r := newRig(t)
	r.node.Close()
	var op *net.OpError
	if _, err := r.link.Dial(t.Context()); !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("an in-process client: %v, want a dial error", err)
	}
	conn, err := net.Dial("tcp", r.link.Addr())
	if errors.Is(err, syscall.ECONNRESET) {
		return // before the dial was done
	}
	must(t, err)
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("another client reads %d, %v", n, err)
	}
}

// Close also ends what is held; TestMain checks that no goroutine is left.
func TestProxyClosesWhileItHolds(t *testing.T) {
	r := newRig(t)
	conn, blocked := r.dial(t), r.dial(t)
	held := make(chan struct{})
	r.decides(func(m *Message, _ bool) {
		if m.Command.Name == "GET" {
			m.Hold()
			close(held)
		}
	})
	write(t, conn, "PING\r\nGET a\r\n")
	<-held
	read(t, conn, 7)
	r.proxy.impose(condition{Client: faults.All, Node: faults.All, Block: true})
	write(t, blocked, "PING\r\n")
	if err := r.proxy.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{conn, blocked} {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d, %v", n, err)
		}
	}
	if _, err := r.proxy.Open(LinkConfig{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("opened after close: %v", err)
	}
}

// Any bytes pass as they are, both ways, RESP or not.
func TestProxyIsTransparent(t *testing.T) {
	node, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer node.Close()
	proxy := NewProxy(ProxyConfig{})
	defer proxy.Close()
	link, err := proxy.Open(LinkConfig{Client: 1, Dial: dialTo(node.Addr().String())})
	must(t, err)
	piece := rapid.OneOf(
		rapid.SampledFrom([][]byte{[]byte("*1\r\n$4\r\nPING\r\n"), []byte("+OK\r\n"), []byte("$5\r\nhello\r\n"), []byte(">1\r\n:1\r\n"), []byte("GET k\r\n")}),
		rapid.SliceOfN(rapid.Byte(), 1, 40),
	)
	rapid.Check(t, func(t *rapid.T) {
		pieces, back := rapid.SliceOf(piece).Draw(t, "pieces"), rapid.Bool().Draw(t, "back")
		from, err := net.Dial("tcp", link.Addr())
		must(t, err)
		to, err := node.Accept()
		must(t, err)
		if back {
			from, to = to, from
		}
		defer to.Close()
		for _, p := range pieces {
			if _, err := from.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		from.Close() // an incomplete frame is passed on when its sender ends
		want := bytes.Join(pieces, nil)
		if got, _ := io.ReadAll(to); !bytes.Equal(got, want) {
			t.Fatalf("%q came out of %q", got, want)
		}
	})
}
