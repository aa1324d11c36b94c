package fakeredis_test

import (
	"bufio"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/internal/resp"
)

// caller is a connection to a live server.
type caller struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newCaller(t *testing.T, l *fakeredis.Live) *caller {
	conn := l.Dial()
	t.Cleanup(func() { _ = conn.Close() })
	return &caller{t, conn, bufio.NewReader(conn)}
}

// asks sends commands without waiting for replies.
func (c *caller) asks(commands ...string) {
	c.t.Helper()
	for _, command := range commands {
		if _, err := c.conn.Write(resp.AppendRequest(nil, strings.Fields(command)...)); err != nil {
			c.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// gets returns what the server has sent by now, the lines of the protocol joined by spaces.
func (c *caller) gets() string {
	var lines []string
	if err := c.conn.SetReadDeadline(time.Now().Add(time.Nanosecond)); err != nil {
		c.t.Fatal(err)
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return strings.Join(lines, " ")
		}
		lines = append(lines, strings.TrimSpace(line))
	}
}

// live runs body in a bubble with a server of its own.
func live(t *testing.T, body func(t *testing.T, l *fakeredis.Live)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, err := fakeredis.NewLive()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		body(t, l)
	})
}

// TestLiveServesTheLongestWaiting: of several clients that wait for one list, Redis serves the one
// that has waited longest, and none whose connection has ended.
func TestLiveServesTheLongestWaiting(t *testing.T) {
	live(t, func(t *testing.T, l *fakeredis.Live) {
		gone, first, second, pusher := newCaller(t, l), newCaller(t, l), newCaller(t, l), newCaller(t, l)
		gone.asks("BLPOP q 0")
		first.asks("BLPOP other q 0", "GET k")
		second.asks("BLMOVE q done LEFT LEFT 0")
		if err := gone.conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pusher.asks("SET k v", "RPUSH q 1 2")
		if got, want := first.gets(), "*2 $1 q $1 1 $1 v"; got != want {
			t.Errorf("who waited longest: %q, want %q", got, want)
		}
		if got, want := second.gets(), "$1 2"; got != want {
			t.Errorf("who came later: %q, want %q", got, want)
		}
	})
}

// TestLiveWaitsEnd: what waits ends with its time-out, and not before; a time-out of another wait
// ends nothing.
func TestLiveWaitsEnd(t *testing.T) {
	for _, row := range []struct{ command, reply string }{
		{"BLPOP q 2", "*-1"},
		{"BLMOVE q r LEFT LEFT 2", "*-1"},
		{"WAIT 1 2000", ":0"},
	} {
		live(t, func(t *testing.T, l *fakeredis.Live) {
			c, pusher := newCaller(t, l), newCaller(t, l)
			c.asks("BLPOP before 1")
			time.Sleep(time.Second / 2)
			pusher.asks("RPUSH before x")
			c.gets()
			c.asks(row.command)
			time.Sleep(1900 * time.Millisecond)
			if got := c.gets(); got != "" {
				t.Errorf("%s: %q before its time-out", row.command, got)
			}
			time.Sleep(200 * time.Millisecond)
			if got := c.gets(); got != row.reply {
				t.Errorf("%s: %q after its time-out, want %q", row.command, got, row.reply)
			}
		})
	}
}

// TestLive: leases end by the bubble's clock, messages reach subscribers, transactions do not wait,
// scripts run, what was not compared with Redis is executed as miniredis does, and what that lacks
// is named.
func TestLive(t *testing.T) {
	live(t, func(t *testing.T, l *fakeredis.Live) {
		c, listener := newCaller(t, l), newCaller(t, l)
		listener.asks("SUBSCRIBE ch")
		c.asks("SET a 1 PX 500", "SET b 2", "MULTI", "BLPOP q 0", "EXEC", "EVAL return(7) 0", "PUBLISH ch hello", "XADD s 1-1 f v", "SETBIT bits 3 1")
		if got, want := c.gets(), "+OK +OK +OK +QUEUED *1 *-1 :7 :1 $3 1-1 :0"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := listener.gets(), "*3 $9 subscribe $2 ch :1 *3 $7 message $2 ch $5 hello"; got != want {
			t.Errorf("the subscriber: %q, want %q", got, want)
		}
		if left := l.Left(); left["a"].Round(time.Millisecond) != 500*time.Millisecond || left["b"] != 0 || len(left) != 4 {
			t.Errorf("left: %v", left)
		}
		time.Sleep(time.Second)
		c.asks("GET a")
		if got := c.gets(); got != "$-1" {
			t.Errorf("after the lease: %q", got)
		}
		if got := l.Refused(); got != "" {
			t.Errorf("refused %s", got)
		}
		c.asks("CLIENT SETINFO lib-name x")
		if got := l.Refused(); !strings.HasPrefix(c.gets(), "-ERR unknown command") || got != "" {
			t.Errorf("refused %q: a client goes on without", got)
		}
		c.asks("LCS a b")
		if got := l.Refused(); !strings.HasPrefix(c.gets(), "-ERR unknown command") || got != "LCS" {
			t.Errorf("refused %q, want LCS", got)
		}
		l.Fail("OOM no memory")
		c.asks("GET b")
		l.Fail("")
		c.asks("GET b", "QUIT")
		if got, want := c.gets(), "-OOM no memory $1 2 +OK"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := c.conn.Write([]byte("PING\r\n")); err == nil {
			t.Error("the connection goes on after QUIT")
		}
	})
}

// TestLivePipelines: requests that come in pieces, or many at once, are answered in order.
func TestLivePipelines(t *testing.T) {
	live(t, func(t *testing.T, l *fakeredis.Live) {
		c := newCaller(t, l)
		var all []byte
		want := make([]string, 50)
		for i := range want {
			all = resp.AppendRequest(all, "INCR", "n")
			want[i] = ":" + strconv.Itoa(i+1)
		}
		for piece := range slices.Chunk(all, 7) {
			if _, err := c.conn.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := c.gets(); got != strings.Join(want, " ") {
			t.Errorf("%q", got)
		}
	})
}
