package faults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// rig is a proxy with one link to a node.
type rig struct {
	proxy *Proxy
	link  *Link
	node  *miniredis.Miniredis
	mu    sync.Mutex
	phase Phase
	log   []history.Command
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{node: miniredis.RunT(t), phase: Idle}
	start := time.Now()
	r.proxy = NewProxy(ProxyConfig{
		Timeline: func() int64 { return int64(time.Since(start)) },
		Record: func(c history.Command) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.log = append(r.log, c)
		},
	})
	t.Cleanup(func() {
		if err := r.proxy.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	var err error
	r.link, err = r.proxy.Open(LinkConfig{Client: "c1", Node: 0, Phase: r.currentPhase, Dial: dialTo(r.node.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dialTo(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
}

func (r *rig) currentPhase() Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

func (r *rig) enter(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

func (r *rig) commands(name string) (out []history.Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.log {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// client is a go-redis client through the link.
func (r *rig) client(t *testing.T, protocol int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.link.Addr(), Protocol: protocol, MaxRetries: -1, DisableIdentity: true, ReadTimeout: 5 * time.Second})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

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
		if err := c.Set(ctx, "big", big, 0).Err(); err != nil {
			t.Fatal(err)
		}
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
		get := r.commands("GET")
		if len(get) < 2 || get[1].Reply != `"50"` || get[1].Client != "c1" || get[1].Replied < get[1].Sent || get[1].Sent == 0 {
			t.Errorf("RESP%d record: %+v", protocol, get)
		}
	}
}

func TestProxyLosesReply(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 3)
	struck := make(chan Strike, 1)
	remove := r.proxy.Add(Rule{Client: "c1", Reply: "acquire SET", Key: "lock", Nth: 2, Do: Cut, Struck: func(s Strike) { struck <- s }})
	ctx := t.Context()
	c.Set(ctx, "lock", "0", 0) // in no acquire: does not count
	r.enter(InAcquire)
	c.Set(ctx, "other", "0", 0) // another key: does not count
	if err := c.Set(ctx, "lock", "1", 0).Err(); err != nil {
		t.Fatalf("the first match is to pass: %v", err)
	}
	if err := c.Set(ctx, "lock", "2", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("the second match: %v, want EOF", err)
	}
	if v, _ := r.node.Get("lock"); v != "2" {
		t.Errorf("the node has %q: the request is to be applied", v)
	}
	if s := <-struck; s.Command.Reply != "OK" || s.Client != "c1" || s.Node != 0 || s.End < s.Start {
		t.Errorf("strike %+v", s)
	}
	if err := c.Set(ctx, "lock", "3", 0).Err(); err != nil {
		t.Errorf("after it, on a new connection: %v", err)
	}
	remove()
	remove()
	var all []history.Command
	// The end of the connection that was cut is recorded beside what its client does next.
	eventually(t, "all are recorded", func() bool { all = r.commands("SET"); return len(all) == 5 })
	lost := slices.IndexFunc(all, func(c history.Command) bool { return slices.Equal(c.Args, []string{"lock", "2"}) })
	if lost < 0 || all[lost].Replied != 0 || all[lost].Reply != "" {
		t.Errorf("the lost one is to be recorded as unanswered: %+v", all)
	}
}

func TestProxyLosesRequest(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 2)
	r.proxy.Add(Rule{Request: "any *w", Do: Cut})
	if err := c.Get(t.Context(), "lock").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("a read does not match: %v", err)
	}
	if err := c.Set(t.Context(), "lock", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want EOF", err)
	}
	if r.node.Exists("lock") {
		t.Error("the request is not to reach the node")
	}
}

// A refused SET NX is no match for commands that write.
func TestProxyReplyOfAWriteThatWrote(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 3)
	r.proxy.Add(Rule{Reply: "any *w", Do: Cut})
	if err := r.node.Set("lock", "taken"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); err != nil {
		t.Errorf("refused, so not a match: %v", err)
	}
	r.node.Del("lock")
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("granted: %v, want EOF", err)
	}
}

func TestProxyHolds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    Rule
		applied bool // while it is held
	}{
		{"a request", Rule{Request: "any SET", Do: Hold}, false},
		{"a reply", Rule{Reply: "any SET", Do: Hold}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			c := r.client(t, 3)
			held, free := make(chan struct{}), make(chan struct{})
			tt.rule.Wait = func(<-chan struct{}) { close(held); <-free }
			r.proxy.Add(tt.rule)
			done := make(chan error, 1)
			go func() { done <- c.Set(t.Context(), "k", "1", 0).Err() }()
			<-held
			if r.node.Exists("k") != tt.applied {
				t.Errorf("applied while held: %v", r.node.Exists("k"))
			}
			select {
			case err := <-done:
				t.Errorf("answered while held: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			close(free)
			if err := <-done; err != nil || !r.node.Exists("k") {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestProxyDropsAndLives(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	r.proxy.Add(Rule{Request: "any SET", Do: Drop, Times: -1})
	write(t, conn, "SET a 1\r\nSET b 1\r\nPING\r\n")
	if got := read(t, conn, 7); got != "+PONG\r\n" || r.node.Exists("a") || r.node.Exists("b") {
		t.Errorf("got %q", got)
	}
}

func (r *rig) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := r.link.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadFull(conn, buf)
	if err != nil {
		t.Fatalf("%q, then %v", buf[:got], err)
	}
	return string(buf)
}

// What a black hole holds is delivered when it is over, and nothing before.
func TestProxyBlackHole(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	write(t, conn, "PING\r\n")
	read(t, conn, 7)
	lift := r.proxy.Impose(Condition{Client: "c1", BlockRequests: true, BlockReplies: true})
	if !r.proxy.Settled(t.Context()) {
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

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen: %s", what)
		}
	}
}

// Blocked one way: the request is applied, its reply waits.
func TestProxyBlocksOneWay(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	lift := r.proxy.Impose(Condition{Node: 1, BlockReplies: true})
	write(t, conn, "SET a 1\r\n")
	eventually(t, "the request is applied", func() bool { return r.node.Exists("a") })
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
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
		condition Condition
		request   string
		reply     int
		low, high time.Duration
	}{
		{"another client's", Condition{Client: "c2", Delay: time.Second}, "PING\r\n", 7, 0, 500 * time.Millisecond},
		{"each way once", Condition{Delay: 30 * time.Millisecond}, "PING\r\n", 7, 60 * time.Millisecond, 500 * time.Millisecond},
		{"a pipeline as one", Condition{Delay: 150 * time.Millisecond}, "PING\r\nPING\r\nPING\r\n", 21, 300 * time.Millisecond, 590 * time.Millisecond},
		{"1000 bytes at 10 kB/s", Condition{Rate: 10_000}, "PING " + strings.Repeat("x", 993) + "\r\n", 1001, 200 * time.Millisecond, 800 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			conn := r.dial(t)
			r.proxy.Impose(tt.condition)
			start := time.Now()
			write(t, conn, tt.request)
			read(t, conn, tt.reply)
			if took := time.Since(start); took < tt.low || took > tt.high {
				t.Errorf("took %s, want between %s and %s", took, tt.low, tt.high)
			}
		})
	}
}

func TestProxyCutsSubscribed(t *testing.T) {
	r := newRig(t)
	plain, sub := r.dial(t), r.dial(t)
	write(t, sub, "SUBSCRIBE ch\r\n")
	read(t, sub, len("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"))
	if n := r.proxy.CutSubscribed("c2"); n != 0 {
		t.Errorf("%d connections of another client", n)
	}
	if n := r.proxy.CutSubscribed("c1"); n != 1 {
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
		return // sooner than the dial was done
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("another client reads %d, %v", n, err)
	}
}

// Closing ends what is held, too; TestMain sees that no goroutine is left.
func TestProxyClosesWhileItHolds(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	held := make(chan struct{})
	r.proxy.Add(Rule{Request: "any GET", Do: Hold, Wait: func(done <-chan struct{}) { close(held); <-done }})
	r.proxy.Impose(Condition{BlockReplies: true})
	write(t, conn, "PING\r\nGET a\r\n")
	<-held
	if err := r.proxy.Close(); err != nil {
		t.Error(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := r.proxy.Open(LinkConfig{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("opened after close: %v", err)
	}
}

// Any bytes pass as they are, both ways, RESP or not.
func TestProxyIsTransparent(t *testing.T) {
	node, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	proxy := NewProxy(ProxyConfig{})
	defer proxy.Close()
	link, err := proxy.Open(LinkConfig{Client: "c1", Dial: dialTo(node.Addr().String())})
	if err != nil {
		t.Fatal(err)
	}
	piece := rapid.OneOf(
		rapid.SampledFrom([][]byte{[]byte("*1\r\n$4\r\nPING\r\n"), []byte("+OK\r\n"), []byte("$5\r\nhello\r\n"), []byte(">1\r\n:1\r\n"), []byte("GET k\r\n")}),
		rapid.SliceOfN(rapid.Byte(), 1, 40),
	)
	rapid.Check(t, func(t *rapid.T) {
		there, back := rapid.SliceOf(piece).Draw(t, "there"), rapid.SliceOf(piece).Draw(t, "back")
		client, err := net.Dial("tcp", link.Addr())
		if err != nil {
			t.Fatal(err)
		}
		server, err := node.Accept()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, client, server, there, back)
	})
}

// exchange writes the pieces and reads them at the other end: first from client to server, then back.
func exchange(t *rapid.T, client, server net.Conn, there, back [][]byte) {
	defer server.Close()
	defer client.Close()
	for _, way := range []struct {
		from, to net.Conn
		pieces   [][]byte
		halfway  bool
	}{{server, client, back, false}, {client, server, there, true}} {
		for _, p := range way.pieces {
			if _, err := way.from.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if way.halfway { // an incomplete frame is passed on when its sender ends
			way.from.Close()
		} else if err := way.from.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		want := bytes.Join(way.pieces, nil)
		if got, _ := io.ReadAll(way.to); !bytes.Equal(got, want) {
			t.Fatalf("%q came out of %q", got, want)
		}
		if !way.halfway {
			return
		}
	}
}
