package sim

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/servers"
)

// testCluster is a cluster of empty nodes whose clocks start at t.
func testCluster(t *testing.T, start time.Time) []*node {
	t.Helper()
	nodes := make([]*node, impls.ClusterMasters)
	for i := range nodes {
		nodes[i] = testNode(t, start)
	}
	all := topology{nodes: append(slices.Clone(nodes), nil)}
	all.giveRoles(nodes, len(nodes))
	all.join()
	return nodes
}

// onCluster returns the program of a lock with clients of a cluster.
func onCluster(t *testing.T, lock string) Program {
	t.Helper()
	p := program(t, lock, "counter", 3)
	p.Topology, p.Clients = impls.Cluster, 3
	return p
}

// TestEveryLockOnACluster runs every lock that supports a cluster: it is granted, no client is
// refused a slot, and the same seed gives the same trace.
func TestEveryLockOnACluster(t *testing.T) {
	one, two := newSimulator(t), newSimulator(t)
	for _, v := range catalogue.Locks() {
		if want := v.Expect["cluster-slots"]; want.NA != "" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			for seed := range uint64(3) {
				p := onCluster(t, v.Name)
				p.Seed = seed
				first := simulate(t, one, p, NewRandom(seed, Bounds{}, 0), Bounds{})
				if first.Left != "" || len(first.Errors) > 0 {
					t.Fatalf("left %q, errors %v", first.Left, first.Errors)
				}
				if len(v.Expect["cluster-slots"].Breaks) == 0 && count(first, history.Acquire, history.OK) == 0 {
					t.Error("granted to nobody")
				}
				for _, c := range first.Commands {
					if strings.Contains(c.Reply, "MOVED") || strings.Contains(c.Reply, "CROSSSLOT") {
						t.Fatalf("%s %v answers %s", c.Name, c.Args, c.Reply)
					}
				}
				if again := simulate(t, two, p, NewRandom(seed, Bounds{}, 0), Bounds{}); told(again) != told(first) {
					t.Errorf("seed %d: two traces", seed)
				}
			}
		})
	}
}

// TestClusterPublishes: a message reaches the subscribers of every node, and PUBLISH replies with
// the number of those at its own node.
func TestClusterPublishes(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		(&topology{nodes: append(slices.Clone(w.nodes), nil), addrs: w.addrs}).join()
		here, there := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[1])
		here.sends("SUBSCRIBE ch")
		there.sends("SUBSCRIBE ch")
		if got := asked(w.nodes[0], time.Now(), "PUBLISH ch hello", "PUBLISH other hello"); !slices.Equal(got, []string{":1", ":0"}) {
			t.Errorf("PUBLISH answers %q", got)
		}
		for _, cn := range []*conn{here, there} {
			if got := cn.answers(); !strings.Contains(got, "hello") {
				t.Errorf("a subscriber got %q", got)
			}
		}
	})
}

// TestClusterClientRepeatsNothing: the reply to an acquire is lost with its connection. A client
// that repeated the request with the same token would find the lock taken by its own first attempt.
func TestClusterClientRepeatsNothing(t *testing.T) {
	p := onCluster(t, "token")
	p.Faults = []faults.Spec{{Fault: faults.LoseReply, When: faults.Trigger{Reply: "acquire SET"}}}
	out := simulate(t, newSimulator(t), p, NewRandom(1, Bounds{}, 0), Bounds{})
	if len(out.Windows) != 1 {
		t.Fatalf("windows %+v, want one", out.Windows)
	}
	seen := map[string]bool{}
	for _, c := range out.Commands {
		said := c.Client + strings.Join(c.Args, " ")
		if c.Name == "SET" && c.Node != StoreNode && seen[said] {
			t.Errorf("%s says twice SET %q", c.Client, c.Args)
		}
		seen[said] = true
	}
}

// TestClusterUnderFaults: whatever faults there are, a schedule on a cluster ends and leaves
// nothing behind.
func TestClusterUnderFaults(t *testing.T) {
	h, bounds := newSimulator(t), Bounds{Faults: everyFault, MaxFaults: 2, MaxWaits: 3}
	for _, lock := range []string{"token", "fair", "redisson"} {
		for seed := range uint64(20) {
			p := onCluster(t, lock)
			p.Seed = seed
			if out := simulate(t, h, p, NewRandom(seed, bounds, 40), bounds); out.Left != "" {
				t.Errorf("%s, seed %d: left %s", lock, seed, out.Left)
			}
		}
	}
}

// clusterRequests are sent to both clusters. LOCAL1 and LOCAL2 stand for keys of the receiving
// node, in two slots; AWAY1 and AWAY2 for keys of another node.
var clusterRequests = []string{
	"CLUSTER KEYSLOT {user}.name", "CLUSTER SLOTS",
	"SET LOCAL1 v", "SET AWAY1 v", "GET LOCAL1", "GET AWAY2", "PTTL AWAY1",
	"DEL LOCAL1", "DEL LOCAL1 {LOCAL1}b", "DEL LOCAL1 LOCAL2", "DEL LOCAL1 AWAY1", "DEL AWAY1 {AWAY1}b", "DEL AWAY1 AWAY2",
	"EXISTS LOCAL1 {LOCAL1}b", "EXISTS LOCAL1 LOCAL2", "MGET LOCAL1 AWAY1",
	"MSET LOCAL1 AWAY1 {LOCAL1}b AWAY2", "MSET LOCAL1 1 LOCAL2 2", "MSET AWAY1 1 {AWAY1}b 2",
	"RENAME LOCAL1 {LOCAL1}c", "RENAME LOCAL1 LOCAL2", "RPUSH {LOCAL2}list x y", "LPOP {LOCAL2}list", "BLPOP AWAY1 1", "BLPOP LOCAL1 LOCAL2 1",
	"LMPOP 1 AWAY1 LEFT", "LMPOP 2 LOCAL1 LOCAL2 LEFT", "LMPOP 1 LOCAL1 LEFT", "BLMPOP 1 1 AWAY1 LEFT", "READONLY",
	"PUBLISH AWAY1 hello",
	"EVAL return{KEYS[1],ARGV[1]} 1 LOCAL1 AWAY1", "EVAL return{KEYS[1],ARGV[1]} 1 AWAY1 LOCAL1", "EVAL return(1) 2 LOCAL1 {LOCAL1}b",
	"EVAL return(1) 2 LOCAL1 LOCAL2", "EVAL return(1) 2 LOCAL1 AWAY1", "EVAL return(1) 2 AWAY1 {AWAY1}b", "EVAL return(1) 0",
	"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 AWAY1", "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 LOCAL1",
	"EVALSHA ffffffffffffffffffffffffffffffffffffffff 2 LOCAL1 LOCAL2",
	"EVAL return(redis.call('SET',ARGV[1],'v')) 1 LOCAL1 LOCAL2", "EVAL return(redis.call('SET',ARGV[1],'v')) 1 LOCAL1 AWAY1",
	"EVAL return(redis.call('GET',ARGV[1])) 0 LOCAL2", "EVAL return(redis.call('GET',ARGV[1])) 0 AWAY2",
	"EVAL return(redis.call('DEL',KEYS[1],ARGV[1])) 1 LOCAL1 {LOCAL1}b", "EVAL return(redis.call('DEL',KEYS[1],ARGV[1])) 1 LOCAL1 LOCAL2",
	"EVAL return(redis.pcall('GET',ARGV[1])) 1 LOCAL1 AWAY1",
}

// keysOfNode finds two keys for each node, in two slots.
func keysOfNode(node int) (keys [2]string) {
	for found, letter := 0, 'a'; found < len(keys); letter++ {
		if key := strings.Repeat(string(letter), 1+node); ownerOf(resp.Slot(key)) == node {
			keys[found] = key
			found++
		}
	}
	return keys
}

// ownerOf returns the node of a slot: they share the slots in order.
func ownerOf(slot int) (node int) {
	for slot >= (node+1)*resp.Slots/impls.ClusterMasters {
		node++
	}
	return node
}

// forNode inserts keys into a request: the node's own for LOCAL, and the next node's for AWAY.
func forNode(request string, node int) []string {
	local, away := keysOfNode(node), keysOfNode((node+1)%impls.ClusterMasters)
	text := strings.NewReplacer("LOCAL1", local[0], "LOCAL2", local[1], "AWAY1", away[0], "AWAY2", away[1]).Replace(request)
	return strings.Fields(text)
}

// TestClusterAnswersAsRedisDoes sends the same requests to every node of a simulated cluster and of
// one of redis-server: the replies are the same, MOVED and CROSSSLOT included, and so are the keys
// that each extracts; then random requests, each to a random node. rapid prints the seed of a
// failure.
func TestClusterAnswersAsRedisDoes(t *testing.T) {
	real, nodes := realCluster(t), testCluster(t, time.Now())
	sessions := make([]*fakeredis.Session, len(nodes))
	for i, n := range nodes {
		sessions[i] = n.NewSession(nil)
	}
	compare := func(fatal func(string, ...any), node int, args []string) {
		want, got := real.ask(node, args), wireText(nodes[node].Execute(sessions[node], args, time.Now()))
		if want != got {
			fatal("node %d, %q\nthe simulator answers %s\nRedis answers         %s", node, args, got, want)
		}
		if name := args[0]; name != "CLUSTER" && name != "PUBLISH" {
			if keys := real.keys(node, args); keys != strings.Join(resp.Keys(args), " ") {
				fatal("%q: keys %q, and for Redis %q", args, resp.Keys(args), keys)
			}
		}
	}
	for node := range nodes {
		for _, request := range clusterRequests {
			compare(t.Errorf, node, forNode(request, node))
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		node := rapid.IntRange(0, len(nodes)-1).Draw(r, "node")
		request := rapid.SampledFrom(clusterRequests).Draw(r, "request")
		compare(r.Fatalf, node, forNode(request, node))
	})
}

// realNodes holds connections to the nodes of a real cluster.
type realNodes struct {
	t     *testing.T
	conns []net.Conn
	addrs *strings.Replacer // real address to simulated
}

// realCluster starts a cluster of redis-server processes.
func realCluster(t *testing.T) *realNodes {
	t.Helper()
	d := deployed(t, servers.Spec{Topology: impls.Cluster})
	r := &realNodes{t: t}
	var addrs []string
	for i := range d.Len() {
		conn, err := d.Dial(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		r.conns = append(r.conns, conn)
		addrs = append(addrs, d.Addr(i), nodeAddr(i), inSlots(d.Addr(i)), inSlots(nodeAddr(i)))
	}
	r.addrs = strings.NewReplacer(addrs...)
	return r
}

// deployed starts redis-server processes, or skips the test if there are none.
func deployed(t *testing.T, spec servers.Spec) servers.Deployment {
	t.Helper()
	p := servers.NewProcess(servers.ProcessOptions{})
	testneeds.Need(t, p.Name(), p.Available(t.Context()))
	d, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// inSlots returns an address as CLUSTER SLOTS shows it.
func inSlots(addr string) string { return strings.Replace(addr, ":", " :", 1) }

// ask returns the reply of a node, with the simulator's addresses.
func (r *realNodes) ask(node int, args []string) string {
	r.t.Helper()
	conn := r.conns[node]
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := conn.Write(resp.AppendRequest(nil, args...)); err != nil {
		r.t.Fatal(err)
	}
	var replies resp.Replies
	buf := make([]byte, 1<<12)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			r.t.Fatal(err)
		}
		replies.Feed(buf[:n])
		if reply, ok := replies.Next(); ok {
			return r.addrs.Replace(wireText(reply.Raw))
		}
	}
}

// keys returns the keys of a request according to a real node, by COMMAND GETKEYS; "" if it has
// none.
func (r *realNodes) keys(node int, args []string) string {
	words := strings.Fields(r.ask(node, append([]string{"COMMAND", "GETKEYS"}, args...)))
	if words[0][0] == '-' {
		return ""
	}
	return strings.Join(slices.DeleteFunc(words[1:], func(w string) bool { return w[0] == '$' }), " ")
}

// wireText returns a reply as text, its parts separated by blanks. An error with the code ERR is
// cut to the code, because the words differ between versions of Redis.
func wireText(b []byte) string {
	text := strings.ReplaceAll(strings.TrimSpace(failed.ReplaceAllString(string(b), "-ERR")), "\r\n", " ")
	return nodeID.ReplaceAllString(text, "$$40 id")
}

// failed matches an error without a code of its own.
var failed = regexp.MustCompile(`(?m)^-ERR [^\r]*`)

// nodeID returns a node's id.
var nodeID = regexp.MustCompile(`\$40 [0-9a-f]{40}`)
