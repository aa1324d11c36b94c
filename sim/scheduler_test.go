package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// writes lets the client write requests to its connection, one line each, all at once.
func (cn *conn) writes(t *testing.T, lines ...string) {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	cn.world.mu.Unlock()
	defer cn.world.mu.Lock()
	if _, err := cn.Write([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
}

// has takes what has arrived at the client.
func (cn *conn) has() string {
	text := strings.ReplaceAll(strings.TrimSpace(string(cn.arrived)), "\r\n", " ")
	cn.arrived = nil
	return text
}

// steps performs every possible event, in the default order, and returns their names.
func (w *world) steps() (names []string) {
	for {
		w.settleInstant()
		options := w.options()
		if len(options) == 0 {
			return names
		}
		o := oldest(options)
		what := ""
		if o.kind == deliverRequest {
			args := o.conn.requests[0].args
			what = " " + strings.Join(args[1:min(len(args), 2)], "")
		}
		names = append(names, o.event().name()+what)
		w.apply(o)
	}
}

// TestHandshakesAreNoEvents: a handshake is answered without the scheduler, once the node is up,
// and never before earlier requests.
func TestHandshakesAreNoEvents(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		cn := w.sendsTo(w.nodes[0])
		if cn.writes(t, "PING"); cn.has() != "+PONG" {
			t.Error("a node that is there does not answer at once")
		}
		w.nodes[0].paused = true
		cn.writes(t, "PING", "SET a 1", "PING", "SET b 1")
		if names := w.steps(); len(names) > 0 || cn.has() != "" {
			t.Errorf("a node that is stopped: %v", names)
		}
		w.nodes[0].paused = false
		if w.settleInstant(); cn.has() != "+PONG" {
			t.Error("the first handshake is not answered when the node is back")
		}
		want := []string{"request c1-n1 SET#1 a", "reply c1-n1 SET#1", "request c1-n1 SET#2 b", "reply c1-n1 SET#2"}
		names := w.steps()
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("events %v, want %v", names, want)
		}
		if got := cn.has(); got != "+OK +PONG +OK" {
			t.Errorf("the client reads %q, want the replies in the order of its requests", got)
		}
		cn.writes(t, "PING")
		if len(cn.client.commands) != 2 {
			t.Errorf("%d commands are recorded, want 2 and no handshake", len(cn.client.commands))
		}
	})
}

// TestNoDialUnderAnEndedContext: a library may dial under a mutex that another goroutine waits for,
// like a go-redis subscription that is read and closed at once. It does so under a context that has
// ended, and must get its error before time passes.
func TestNoDialUnderAnEndedContext(t *testing.T) {
	for _, cut := range []bool{false, true} {
		inWorld(t, Program{}, func(w *world) {
			c := &client{world: w, name: "c1"}
			w.cut = map[cutKey]bool{{c.index, 0}: cut}
			w.mu.Unlock()
			defer w.mu.Lock()
			ended, end := context.WithCancel(context.Background())
			end()
			conn, err := c.dial(ended, "tcp", nodeAddr(0))
			if !errors.Is(err, context.Canceled) || conn != nil || len(w.conns) > 0 {
				t.Errorf("cut %v: %d connections, error %v; want none and the context's", cut, len(w.conns), err)
			}
			if d := w.now(); d > 0 {
				t.Errorf("cut %v: it took %v, want no time", cut, d)
			}
		})
	}
}

// TestMultiplexedRequestsHaveAnOrder: whichever goroutine writes first, the node receives the same,
// and each gets the reply to its own request.
func TestMultiplexedRequestsHaveAnOrder(t *testing.T) {
	var seen []string
	for _, rows := range [][2]string{{"SET x 1 GET", "GET y"}, {"GET y", "SET x 1 GET"}} {
		p := Program{}
		p.Variant.Traits.Multiplexes = true
		inWorld(t, p, func(w *world) {
			cn := w.sendsTo(w.nodes[0])
			asked(w.nodes[0], time.Now(), "SET x old", "SET y yours")
			cn.writes(t, rows[0], "PING", rows[1])
			seen = append(seen, strings.Join(w.steps(), ", "))
			replies := map[string]string{"GET y": "$5 yours", "SET x 1 GET": "$3 old"}
			if got, want := cn.has(), replies[rows[0]]+" +PONG "+replies[rows[1]]; got != want {
				t.Errorf("to %q the client reads %q, want %q", rows, got, want)
			}
		})
	}
	if seen[0] != seen[1] || !strings.Contains(seen[0], "request") {
		t.Errorf("two orders: %s; %s", seen[0], seen[1])
	}
}

// TestLinksBreakOneByOne: a node that dies breaks its connections at one instant, in the order of
// what was sent over them.
func TestLinksBreakOneByOne(t *testing.T) {
	var orders []string
	for _, lines := range [][]string{{"SET a 1", "SET b 1"}, {"SET b 1", "SET a 1"}} {
		inWorld(t, Program{}, func(w *world) {
			for _, line := range lines {
				w.sendsTo(w.nodes[0]).writes(t, line)
			}
			order := ""
			w.inTurn(slices.Clone(w.conns), func(cn *conn) { order += cn.requests[0].args[1] })
			w.settleInstant()
			orders = append(orders, order)
		})
	}
	if orders[0] != orders[1] || len(orders[0]) != 2 {
		t.Errorf("orders %q, want one", orders)
	}
}

// TestSleepsEndApart: no two sleeps of clients, or of one client, end at the same instant, though
// all begin at once and last equally long.
func TestSleepsEndApart(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		ends := map[time.Duration]bool{}
		for i := range MaxClients {
			for _, d := range []time.Duration{time.Second, time.Second + sleepers} {
				late := (&client{world: w, index: i}).ownInstant(d) - d
				if late < 0 || late >= sleepers {
					t.Fatalf("a sleep of %v is %v late", d, late)
				}
				if end := (d + late) % sleepers; ends[end] {
					t.Errorf("client %d: a sleep of %v ends with another", i, d)
				} else {
					ends[end] = true
				}
			}
		}
	})
}

// TestTokensAreNamed: what a lock draws from its own random source is replaced by names that follow
// from the seed, and restored unchanged.
func TestTokensAreNamed(t *testing.T) {
	named := func(seed byte, words ...string) (*tokens, []string) {
		names := newTokens([32]byte{seed})
		args := append([]string{"SET"}, words...)
		names.rename(args)
		return names, args[1:]
	}
	first, second := "\x00\xff0123456789abcdef012345", "\x01\xfe0123456789abcdef012345"
	names, one := named(1, "key", first, second, first)
	_, other := named(1, "key", second, first, second)
	if !slices.Equal(one, other) || one[1] == one[2] || one[1] != one[3] || one[0] != "key" || len(one[1]) != len(first) {
		t.Errorf("%q and %q, want the same names in order of appearance", one, other)
	}
	if _, seeded := named(2, "key", first); seeded[1] == one[1] {
		t.Error("two seeds give one name")
	}
	if got := string(names.restore([]byte("$24\r\n" + one[2] + "\r\n"))); got != "$24\r\n"+second+"\r\n" {
		t.Errorf("it comes back as %q, want %q", got, second)
	}
	if _, text := named(1, "2f1acc6c3a606b082e5eef5e54414ffb", "return redis.call('GET',\n KEYS[1])", "946684801000"); text[0] != "2f1acc6c3a606b082e5eef5e54414ffb" ||
		!strings.HasPrefix(text[1], "return") || text[2] != "946684801000" {
		t.Errorf("text is renamed: %q", text)
	}
}

// TestInjectionComesTooLate: a client closes a connection after a fault of its message was chosen
// and before it is injected. The fault has no effect.
func TestInjectionComesTooLate(t *testing.T) {
	for _, fault := range []string{faults.LoseRequest, faults.DelayRequest, faults.LoseReply, faults.DelayReply} {
		t.Run(fault, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				cn := w.sendsTo(w.nodes[0])
				cn.writes(t, "SET a 1")
				w.settleInstant()
				if fault == faults.LoseReply || fault == faults.DelayReply {
					w.apply(oldest(w.options()))
				}
				var late []*placeableFault
				for _, o := range w.options() {
					faultsOfMessage(fault, o, time.Second, func(s faults.Spec, _ string, of option) { late = append(late, placeable(s, "", of).fault) })
				}
				cn.requests, cn.replies = nil, nil
				for _, p := range late {
					w.place(p)
				}
				if windows := w.director.Windows(); len(late) == 0 || len(windows) > 0 {
					t.Errorf("%d injections, windows %v; want some, and no windows", len(late), windows)
				}
			})
		})
	}
}
