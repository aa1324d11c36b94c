package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// testNode is an empty node whose clock starts at t.
func testNode(t *testing.T, start time.Time) *node {
	t.Helper()
	n, err := newNode(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	n.reset(start)
	return n
}

// asked sends commands, one per line, over one connection at a time t and returns the text of each
// reply.
func asked(n *node, t time.Time, lines ...string) []string {
	s := n.NewSession(nil)
	var out []string
	for _, line := range lines {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(string(n.Execute(s, strings.Fields(line), t))), "\r\n", " "))
	}
	return out
}

// inWorld runs body in a world of nodes without clients.
func inWorld(t *testing.T, p Program, body func(w *world)) {
	t.Helper()
	h := newSimulator(t)
	nodes, err := h.nodesFor(max(p.Nodes, 2))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(*testing.T) {
		w := &world{program: p, topology: topology{nodes: nodes}, sources: map[string]string{},
			trace: trace{hash: hashStart}, past: map[uint64]*past{}}
		w.virtual.begin()
		for i, n := range nodes {
			n.index = i
			n.reset(w.start)
		}
		w.giveRoles(nodes, p.Topology.Primaries(len(nodes)))
		w.director = w.newDirector()
		w.mu.Lock() // as the driver does while it works
		defer w.mu.Unlock()
		body(w)
	})
}

// sendsTo returns a client's connection to a node.
func (w *world) sendsTo(n *node) *conn {
	cn := &conn{world: w, client: &client{world: w, name: "c1", messages: map[int]int{}}, server: n, changed: make(chan struct{}, 1)}
	cn.session = n.NewSession(cn)
	w.addConn(cn)
	return cn
}

// sends delivers a request and returns its reply; "" if the server will answer later.
func (cn *conn) sends(line string) string {
	args := strings.Fields(line)
	// no client sent it, so it has no record
	cn.world.execute(&request{conn: cn, name: strings.ToUpper(args[0]), args: args, handshake: true})
	return cn.answers()
}

// answers takes the pending replies.
func (cn *conn) answers() string {
	var b strings.Builder
	for _, r := range cn.replies {
		b.Write(r.bytes)
	}
	cn.replies = nil
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\r\n", " ")
}

// passes lets time pass and runs the timers that are due.
func (w *world) passes(d time.Duration) {
	time.Sleep(d)
	w.runTimers()
}

// TestNodePersistence: a killed node restarts with the data that its persistence kept, and its
// leases expire by the clock.
func TestNodePersistence(t *testing.T) {
	rows := []struct {
		mode impls.Persistence
		kept []string // of a, written 0.5 s after the start, b at 1.2 s and c, which ends while the node is down
	}{
		{"", []string{"$-1", "$-1", "$-1"}},
		{impls.PersistNone, []string{"$-1", "$-1", "$-1"}},
		{impls.PersistEverySec, []string{"$1 1", "$1 2", "$-1"}}, // a process that dies loses nothing that was written
		{impls.PersistAlways, []string{"$1 1", "$1 2", "$-1"}},
	}
	for _, row := range rows {
		t.Run("persistence "+string(row.mode), func(t *testing.T) {
			inWorld(t, Program{Persistence: row.mode}, func(w *world) {
				cn := w.sendsTo(w.nodes[0])
				w.passes(500 * time.Millisecond)
				cn.sends("SET a 1")
				cn.sends("SET c 3 PX 2000")
				w.passes(700 * time.Millisecond)
				cn.sends("SET b 2")
				w.passes(500 * time.Millisecond)
				w.director.Place(t.Context(), faults.Spec{Fault: faults.KillServer, Node: 1, For: faults.Span{Fixed: time.Second}}, "", nil)
				w.passes(0)
				if !w.nodes[0].down || cn.lost == nil {
					t.Error("the node lives, or its connections do")
				}
				w.passes(time.Second)
				if got := asked(w.nodes[0], time.Now(), "GET a", "GET b", "GET c"); w.nodes[0].down || !slices.Equal(got, row.kept) {
					t.Errorf("down %v, holds %q, want %q", w.nodes[0].down, got, row.kept)
				}
			})
		})
	}
}

// TestNodeReplication: the replica has what reached it, WAIT reports it, and a promoted replica has
// no more.
func TestNodeReplication(t *testing.T) {
	rows := []struct {
		name    string
		reaches int // of two writes
		waited  string
		holds   []string // the new primary
		replica string   // what the window of the failover says
	}{
		{"nothing reaches the replica", 0, ":0", []string{"$-1", "$-1"}, history.LackedKey},
		{"one of two writes does", 1, ":0", []string{"$1 1", "$-1"}, history.LackedKey},
		{"both do", 2, ":1", []string{"$1 1", "$1 2"}, history.HadKey},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			program := Program{Topology: impls.Replicated}
			inWorld(t, program, func(w *world) {
				cn := w.sendsTo(w.nodes[0])
				cn.sends("SET a 1")
				cn.sends("SET b 2")
				if got := cn.sends("WAIT 1 100"); got != "" {
					t.Errorf("WAIT answers %q at once", got)
				}
				for range row.reaches {
					w.replicateOne(&w.links[0])
				}
				w.passes(100 * time.Millisecond)
				if got := cn.answers(); got != row.waited {
					t.Errorf("WAIT answers %q, want %q", got, row.waited)
				}
				w.director.Place(t.Context(), faults.Spec{Fault: faults.Failover}, "", nil)
				if w.serverAt(0) != w.nodes[1] || !w.nodes[0].down {
					t.Error("address 0 does not lead to the replica, or the old primary lives")
				}
				if got := w.director.Windows()[0].Replica; got != row.replica {
					t.Errorf("the replica %q, want %q", got, row.replica)
				}
				if got := asked(w.nodes[1], time.Now(), "GET a", "GET b"); !slices.Equal(got, row.holds) {
					t.Errorf("the new primary holds %q, want %q", got, row.holds)
				}
			})
		})
	}
}

// TestNodeTwoReplicas: WAIT counts the replicas that have the write; the first is promoted, with
// what it has, and the second then copies it.
func TestNodeTwoReplicas(t *testing.T) {
	inWorld(t, Program{Topology: impls.Replicated, Nodes: 3}, func(w *world) {
		cn := w.sendsTo(w.nodes[0])
		cn.sends("SET a 1")
		cn.sends("WAIT 2 100")
		w.replicateOne(&w.links[1])
		w.passes(100 * time.Millisecond)
		if got := cn.answers(); got != ":1" {
			t.Errorf("one of two replicas has the write, and WAIT answers %q", got)
		}
		w.director.Place(t.Context(), faults.Spec{Fault: faults.Failover}, "", nil)
		if got := w.director.Windows()[0].Replica; w.serverAt(0) != w.nodes[1] || got != history.LackedKey {
			t.Errorf("the new primary %s, want the first replica, which %s", got, history.LackedKey)
		}
		cn = w.sendsTo(w.nodes[1])
		cn.sends("SET b 2")
		cn.sends("WAIT 1 100")
		for l := &w.links[0]; w.replicates(l); {
			w.replicateOne(l)
		}
		if got := cn.answers(); got != ":1" {
			t.Errorf("the second replica has copied the new primary, and WAIT answers %q", got)
		}
		if got := asked(w.nodes[2], w.clock(), "GET a", "GET b"); !slices.Equal(got, []string{"$-1", "$1 2"}) {
			t.Errorf("the second replica then has a and b: %q", got)
		}
	})
}

// TestNodeBlocking: BLPOP replies after a push, or at its time-out.
func TestNodeBlocking(t *testing.T) {
	rows := []struct {
		name, pop, then string
		after, expired  string // replies to BLPOP after what another client did, and after a second
	}{

		{"one comes", "BLPOP q 1", "RPUSH q x", "*2 $1 q $1 x", ""},

		{"none comes", "BLPOP q 1", "RPUSH other x", "", "*-1"},
		{"for ever", "BLPOP q 0", "GET q", "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				one, two := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0])
				first := one.sends(row.pop)
				two.sends(row.then)
				after := one.answers()
				w.passes(time.Second)
				if expired := one.answers(); first != "" || after != row.after || expired != row.expired {
					t.Errorf("%q at once, %q then, %q at the end; want nothing, %q, %q", first, after, expired, row.after, row.expired)
				}
			})
		})
	}
}

// TestNodePubSubOthersStay: a client that unsubscribes or leaves does not affect other subscribers.
func TestNodePubSubOthersStay(t *testing.T) {
	for name, leave := range map[string]func(*conn){
		"unsubscribes": func(cn *conn) { cn.sends("UNSUBSCRIBE news.a") },
		"closes":       func(cn *conn) { cn.server.Forget(cn) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				one, two := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0])
				one.sends("SUBSCRIBE news.a")
				two.sends("SUBSCRIBE news.a")
				leave(one)
				if reach := w.sendsTo(w.nodes[0]).sends("PUBLISH news.a hi"); reach != ":1" || two.answers() == "" {
					t.Errorf("reaches %s, want the other, which is still there", reach)
				}
			})
		})
	}
}

// TestNodePubSub: a message reaches the current subscribers, by channel or by pattern.
func TestNodePubSub(t *testing.T) {
	rows := []struct {
		name   string
		listen []string
		reach  string // the reply to PUBLISH news.a hi
		gets   string
	}{
		{"nobody listens", nil, ":0", ""},
		{"by channel", []string{"SUBSCRIBE news.a"}, ":1", "*3 $7 message $6 news.a $2 hi"},
		{"another channel", []string{"SUBSCRIBE news.b"}, ":0", ""},
		{"by pattern", []string{"PSUBSCRIBE news.*"}, ":1", "*4 $8 pmessage $6 news.* $6 news.a $2 hi"},
		{"no more", []string{"SUBSCRIBE news.a", "UNSUBSCRIBE news.a"}, ":0", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				one, two := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0])
				for _, line := range row.listen {
					one.sends(line)
				}
				reach := two.sends("PUBLISH news.a hi")
				if gets := one.answers(); reach != row.reach || gets != row.gets {
					t.Errorf("reaches %s, gets %q; want %s, %q", reach, gets, row.reach, row.gets)
				}
			})
		})
	}
}
