package sim

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// pair is a primary and its replica, simulated or real.
type pair interface {
	// over the connection of that name, which leads to node 1 unless the name begins with r
	ask(name, line string) string
	do(what string, node int) // kill, restart, pause or resume
	settle()                  // until the replica has everything
}

// TestPairAnswersAsRedisDoes sends the same commands and restarts to a simulated pair and to one of
// redis-server, and compares every reply. A line is a connection with a command, or an action on a
// node; "settle" waits until the replica has everything.
func TestPairAnswersAsRedisDoes(t *testing.T) {
	rows := []struct {
		name        string
		persistence impls.Persistence
		steps       string
	}{
		{"a primary that restarts empty empties its replica", impls.PersistNone, "a SET k 1|settle|r GET k|kill 1|restart 1|settle|a GET k|r GET k|a SET l 2|settle|r GET l|a WAIT 1 1000"},
		{"a primary that restarts with its data leaves its replica with them", impls.PersistAlways, "a SET k 1|a SET l 2 PX 60000|settle|kill 1|restart 1|settle|a GET k|r GET k|r PTTL l|a WAIT 1 1000"},
		{"a lease that ends while the primary is down is gone on both", impls.PersistAlways, "a SET k 1 PX 30|settle|kill 1|sleep|restart 1|settle|a GET k|r GET k"},
		{"a replica that restarts empty takes over everything", impls.PersistNone, "a SET k 1|settle|kill 2|a SET l 2|a DEL k|restart 2|settle|r GET k|r GET l"},
		{"a replica that restarts with data of its own loses what the primary has deleted", impls.PersistAlways, "a SET k 1|settle|kill 2|a DEL k|restart 2|settle|r EXISTS k"},
		{"a replica that is down has nothing", impls.PersistNone, "a SET k 1|settle|kill 2|a WAIT 1 50|a SET l 2|a WAIT 1 50|restart 2|settle|a WAIT 1 1000"},
		{"a replica that was stopped goes on where it was", impls.PersistNone, "a SET k 1|settle|pause 2|a SET l 2|a INCR n|a WAIT 1 50|resume 2|settle|r GET k|r GET l|r GET n|a WAIT 1 1000"},
		{"a wait is for the writes that its connection has seen", impls.PersistNone, "b GET k|a SET k 1|settle|b GET k|b WAIT 1 1000|pause 2|a SET k 2|a WAIT 1 50|b WAIT 1 50|b GET k|b WAIT 1 50|resume 2"},
		{"every type is taken over", impls.PersistAlways, "a HSET h f v g w|a RPUSH q x y|a SADD s a|a ZADD z 1.5 a 2 b|a PEXPIRE h 60000|settle|kill 1|restart 1|kill 2|restart 2|settle|" +
			"r HGET h f|r HLEN h|r PTTL h|r LRANGE q 0 -1|r SMEMBERS s|r ZRANGE z 0 -1 WITHSCORES|r TTL z"},
		{"scripts are known to neither after a restart", impls.PersistAlways, "a EVAL return(redis.call('SET',KEYS[1],'1')) 1 k|settle|r GET k|kill 1|restart 1|settle|" +
			"a EVALSHA ffffffffffffffffffffffffffffffffffffffff 0|r GET k"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			want := conversation(realPair(t, row.persistence), row.steps)
			var got []string
			inWorld(t, Program{Topology: impls.Replicated, Persistence: row.persistence}, func(w *world) {
				got = conversation(&simulatedPair{t, w, map[string]*conn{}}, row.steps)
			})
			if !slices.Equal(got, want) {
				t.Errorf("the simulator answers\n%s\nRedis answers\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// conversation performs steps and returns every reply after its command.
func conversation(p pair, steps string) (told []string) {
	for step := range strings.SplitSeq(steps, "|") {
		what, line, _ := strings.Cut(step, " ")
		switch what {
		case "settle":
			p.settle()
		case "sleep":
			p.do(what, 0)
		case "kill", "restart", "pause", "resume":
			p.do(what, int(line[0]-'1'))
		default:
			told = append(told, step+" = "+comparable(strings.Fields(line), p.ask(what, line)))
		}
	}
	return told
}

// nodeFor returns the node to which the connection with a name leads.
func nodeFor(name string) int { return boolInt(name[0] == 'r') }

// shortSleep exceeds the short leases of the rows.
const shortSleep = 50 * time.Millisecond

// simulatedPair is the pair of a world.
type simulatedPair struct {
	t     *testing.T
	w     *world
	conns map[string]*conn
}

func (p *simulatedPair) ask(name, line string) string {
	cn := p.conns[name]
	if cn == nil || cn.lost != nil {
		cn = p.w.sendsTo(p.w.nodes[nodeFor(name)])
		cn.seen = cn.server.writes // a client's first write here is a command too
		p.conns[name] = cn
	}
	reply := cn.sends(line)
	if cn.parked != nil {
		p.w.passes(time.Second)
		reply = cn.answers()
	}
	return wireText([]byte(reply))
}

func (p *simulatedPair) do(what string, node int) {
	p.t.Helper()
	var err error
	switch what {
	case "sleep":
		p.w.passes(shortSleep)
	case "kill":
		err = p.w.KillServer(p.t.Context(), node)
		p.w.passes(0)
	case "restart":
		_, err = p.w.RestartServer(p.t.Context(), node)
	case "pause":
		err = p.w.StopServer(p.t.Context(), node)
	case "resume":
		err = p.w.ContinueServer(p.t.Context(), node)
	}
	if err != nil {
		p.t.Errorf("%s %d: %v", what, node+1, err)
	}
}

func (p *simulatedPair) settle() {
	for l := &p.w.links[0]; p.w.replicates(l); {
		p.w.replicateOne(l)
	}
}

// serverPair is a pair of redis-server processes.
type serverPair struct {
	t     *testing.T
	d     servers.Deployment
	conns map[string]net.Conn
}

func realPair(t *testing.T, persistence impls.Persistence) *serverPair {
	t.Helper()
	return &serverPair{t, deployed(t, servers.Spec{Topology: impls.Replicated, Persistence: persistence}), map[string]net.Conn{}}
}

func (p *serverPair) ask(name, line string) string {
	p.t.Helper()
	conn := p.conns[name]
	if conn == nil {
		var err error
		if conn, err = p.d.Dial(p.t.Context(), nodeFor(name)); err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { _ = conn.Close() })
		p.conns[name] = conn
	}
	nodes := realNodes{t: p.t, conns: []net.Conn{conn}, addrs: strings.NewReplacer()}
	return nodes.ask(0, strings.Fields(line))
}

func (p *serverPair) do(what string, node int) {
	p.t.Helper()
	var err error
	switch ctx := p.t.Context(); what {
	case "sleep":
		time.Sleep(shortSleep)
	case "kill":
		err = p.d.Kill(ctx, node)
		for name := range p.conns {
			if nodeFor(name) == node {
				delete(p.conns, name)
			}
		}
	case "restart":
		err = p.d.Restart(ctx, node)
	case "pause":
		err = p.d.Pause(ctx, node)
	case "resume":
		err = p.d.Resume(ctx, node)
	}
	if err != nil {
		p.t.Fatalf("%s %d: %v", what, node+1, err)
	}
}

// settle writes a mark and waits for it over its own connection.
func (p *serverPair) settle() {
	p.t.Helper()
	p.ask("settle", "PUBLISH nobody settles")
	for begun := time.Now(); p.ask("settle", "WAIT 1 100") != ":1"; {
		if time.Since(begun) > 10*time.Second {
			p.t.Fatal("the replica does not catch up")
		}
	}
}
