package fakeredis

import (
	"bufio"
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/fpconv"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Node is one server. Registering miniredis' commands takes as long as a hundred commands, so a
// node is reused: Reset empties it. It serves one goroutine at a time, and never reads the clock of
// the machine: each call says what time it is.
type Node struct {
	redis *miniredis.Miniredis
	srv   *server.Server
	lua   *luaHost
	clock Clock
	shard *shard // its place in a cluster; nil: it is in none
	reply bytes.Buffer
	out   *bufio.Writer
	mirror
	base time.Time // of the instants in the changes that it reports

	channels, patterns listeners // who subscribes

	refused string // a command that it received and does not execute as Redis does
	lacking string // what a connection requested at its start and does without

	// scripts maps the digests that this server knows to sources; a restart forgets them, as in
	// Redis.
	scripts map[string]string
	// touched lists the keys that commands have named, if the node replays a record.
	replays bool
	touched []string
	// serves: it also executes what was not compared with Redis, and no one asks what changed
	serves bool
}

// Clock converts true time to the node's: it may have an offset and another rate.
type Clock struct {
	Offset time.Duration
	Rate   float64   // 1 = true
	Since  time.Time // the instant from which Rate counts
}

// Now returns what the clock shows at an instant.
func (c Clock) Now(t time.Time) time.Time {
	drift := time.Duration(float64(t.Sub(c.Since)) * (c.Rate - 1))
	return t.Add(c.Offset + drift)
}

// NewNode returns an empty node, which the caller closes. It must be called outside the bubbles of
// testing/synctest in which the node is used. An error is miniredis'.
func NewNode() (*Node, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	conn, err := m.Dial() // starts the server without a listener; conn itself is not used
	if err != nil {
		return nil, err
	}
	if err := conn.Close(); err != nil {
		return nil, err
	}
	n := &Node{redis: m, srv: m.Server(), scripts: map[string]string{}}
	n.out = bufio.NewWriterSize(&n.reply, 512)
	n.lua = newLuaHost(n)
	return n, nil
}

// Close ends the node for good.
func (n *Node) Close() {
	n.lua.state.Close()
	n.redis.Close()
}

// Reset makes the node as good as new. Its clock is right at t, the base of the instants in the
// changes that it reports.
func (n *Node) Reset(t time.Time) {
	n.redis.FlushAll()
	n.clock = Clock{Rate: 1, Since: t}
	n.redis.SetTime(t)
	n.base, n.mirror = t, mirror{data: Data{}}
	n.channels, n.patterns = listeners{}, listeners{}
	n.shard, n.refused, n.lacking = nil, "", ""
	clear(n.scripts)
}

// Seed seeds what scripts draw at random.
func (n *Node) Seed(seed int32) { n.lua.random.seed(seed) }

// Peer is what a node needs to know of the other end of a session. Sessions of one peer share its
// subscriptions.
type Peer interface {
	// Publish is called for each message of a subscription, in wire form Push.
	Publish(words ...string)
	// Replicas returns how many replicas have everything up to the session's last command.
	Replicas() int
}

// Session is a connection from a client, with its protocol and its transaction.
type Session struct {
	peer *server.Peer
	conn Peer         // nil: it can't subscribe, and inside a script
	tx   *transaction // nil outside
}

// NewSession returns a session. peer may be nil if it neither subscribes nor waits for replicas.
func (n *Node) NewSession(peer Peer) *Session {
	return &Session{peer: server.NewPeer(n.out), conn: peer}
}

// InTransaction reports whether the session is between MULTI and EXEC.
func (s *Session) InTransaction() bool { return s.tx != nil }

// Resp3 reports whether the session speaks version 3 of the protocol.
func (s *Session) Resp3() bool { return s.peer.Resp3 }

// Tick sets the node's clock from true time, which may end leases.
func (n *Node) Tick(t time.Time) {
	clock := n.clock.Now(t)
	n.redis.SetTime(clock)
	own := clock.UnixNano()
	if n.soonest == 0 || own < n.soonest {
		return
	}
	n.soonest = 0
	var over []string
	for key, v := range n.data {
		switch {
		case v.Expires == 0:
		case v.Expires <= own:
			over = append(over, key)
		case n.soonest == 0 || v.Expires < n.soonest:
			n.soonest = v.Expires
		}
	}
	slices.SortFunc(over, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.data[a].Expires, n.data[b].Expires), strings.Compare(a, b))
	})
	for _, key := range over {
		n.ended = append(n.ended, changeOf(key, n.data[key], nil))
		delete(n.data, key)
	}
}

// Execute runs one command at an instant and returns the bytes of its reply, valid until the next
// call. A command that waits for data, outside a transaction, is Take's.
func (n *Node) Execute(s *Session, args []string, t time.Time) []byte {
	n.Tick(t)
	n.reply.Reset()
	name := strings.ToUpper(args[0])
	if text := cmp.Or(n.refusal(name, args, false), n.misplaced(args), n.listens(s, name)); text != "" {
		if s.tx != nil {
			s.tx.failed = true
		}
		s.peer.WriteError(text)
	} else if !n.inTransaction(s, name, args) {
		n.run(s, name, args)
	}
	n.sync(t)
	s.peer.Flush()
	return n.reply.Bytes()
}

// run runs a command that is not queued.
func (n *Node) run(s *Session, name string, args []string) {
	switch name {
	case "HELLO": // without miniredis, because every schedule opens new connections
		if len(args) == 1 || args[1] != "2" && args[1] != "3" {
			s.peer.WriteError("NOPROTO unsupported protocol version")
			return
		}
		s.peer.Resp3 = args[1] == "3"
		s.peer.Block(func(w *server.Writer) {
			w.WriteMapLen(3)
			w.WriteBulk("server")
			w.WriteBulk("redis")
			w.WriteBulk("version")
			w.WriteBulk(version)
			w.WriteBulk("proto")
			w.WriteInt(2 + boolInt(s.peer.Resp3))
		})
	case "EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO":
		n.lua.readOnly = strings.HasSuffix(name, "_RO")
		n.eval(s, strings.HasPrefix(name, "EVALSHA"), args[1:])
	case "SCRIPT":
		n.script(s, args[1:])
	default:
		n.command(s, name, args)
	}
}

// version is the Redis version with which these nodes are compared.
const version = "7.0.15"

// command runs a command that is neither a script nor about scripts.
func (n *Node) command(s *Session, name string, args []string) {
	if n.replays {
		n.touched = append(n.touched, resp.Keys(args)...)
	}
	switch name {
	case "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE":
		n.subscribe(s, name, args[1:])
	case "PUBLISH":
		n.publish(s, args[1], args[2])
	case "PUBSUB":
		n.pubsub(s, args[1:])
	case "CLUSTER":
		n.cluster(s, args[1:])
	case "WAIT": // in a transaction or a script, where it does not wait
		switch _, _, text := waitsFor(n.asRedisReads(name, args)); {
		case text != "":
			s.peer.WriteError(text)
		case s.conn == nil:
			s.peer.WriteInt(0)
		default:
			s.peer.WriteInt(s.conn.Replicas())
		}
	case "FLUSHALL", "FLUSHDB":
		if len(args) > 2 || len(args) == 2 && !strings.EqualFold(args[1], "SYNC") && !strings.EqualFold(args[1], "ASYNC") {
			s.peer.WriteError("ERR syntax error")
			return
		}
		n.removeAll()
		s.peer.WriteOK()
	case "TTL": // Redis rounds to the nearest second, miniredis down
		db := n.redis.DB(0)
		switch left := db.TTL(args[1]); {
		case !db.Exists(args[1]):
			s.peer.WriteInt(-2)
		case left == 0:
			s.peer.WriteInt(-1)
		default:
			s.peer.WriteInt(int((left + time.Second/2) / time.Second))
		}
	case "READONLY":
		if n.shard == nil {
			s.peer.WriteError("ERR This instance has cluster support disabled")
			return
		}
		s.peer.WriteOK()
	default:
		if _, blocks := blocking[name]; blocks {
			n.atOnce(s, name, args)
			return
		}
		if full(name, args) == "CLIENT|TRACKING" {
			n.lacking = "CLIENT TRACKING" // miniredis refuses it, and a library goes on without
		}
		n.native(s.peer, name, args)
	}
}

// native runs a command of miniredis, unless Redis would not accept its arguments.
func (n *Node) native(to *server.Peer, name string, args []string) {
	args = n.asRedisReads(name, args)
	if resp.IsWrite(name) {
		n.wrote = append(n.wrote, resp.Keys(args)...)
	}
	if text := n.argumentError(name, args); text != "" {
		to.WriteError(text)
		return
	}
	if (name == "ZPOPMIN" || name == "ZPOPMAX") && len(args) == 3 && args[2] == "0" && n.redis.DB(0).Type(args[1]) == "zset" {
		to.WriteLen(0) // miniredis pops all
		return
	}
	var left time.Duration
	rotates := (name == "LMOVE" || name == "RPOPLPUSH") && args[1] == args[2]
	if rotates {
		left = n.redis.DB(0).TTL(args[1])
	}
	n.srv.Dispatch(to, args)
	switch {
	case rotates && left > 0: // miniredis deletes a list of one element and makes a new one
		n.redis.DB(0).SetTTL(args[1], left)
	case name == "ZADD", name == "ZINCRBY":
		// this version of Redis writes some scores in another way than miniredis, such as 0.1, which
		// has 17 digits, or 1e17
		for _, member := range args[3:] {
			f, err := n.redis.DB(0).ZScore(args[1], member)
			if err != nil || f == math.Trunc(f) && math.Abs(f) < 1e17 {
				continue
			}
			if text := luaNumber(lua.LNumber(f), toCommand); text != fpconv.Dtoa(f) {
				n.refuse("a score of " + text)
			}
		}
	}
}

// Clock returns the node's clock.
func (n *Node) Clock() Clock { return n.clock }

// Refused returns a command that the node was sent and does not execute as Redis does; "" for none.
// What happened since is no evidence about a lock.
func (n *Node) Refused() string { return n.refused }

// Lacking returns what a connection requested at its start and does without, such as CLIENT
// TRACKING.
func (n *Node) Lacking() string { return n.lacking }

// SetRate changes the clock's rate from now on, without a jump. Like Jump, it returns for which
// keys that changes when they expire by true time.
func (n *Node) SetRate(t time.Time, rate float64) []history.DataChange {
	n.Tick(t)
	n.clock.Offset = n.clock.Now(t).Sub(t)
	n.clock.Rate, n.clock.Since = rate, t
	return n.retime()
}

// Jump moves the node's clock, which may end leases. Redis stores the instant at which a key
// expires, miniredis the remaining time, so a jump back must lengthen the remaining time.
func (n *Node) Jump(t time.Time, by time.Duration) []history.DataChange {
	n.Tick(t)
	n.clock.Offset += by
	if db := n.redis.DB(0); by < 0 {
		for _, key := range db.Keys() {
			if left := db.TTL(key); left > 0 {
				db.SetTTL(key, left-by)
			}
		}
	}
	changes := n.retime()
	n.Tick(t)
	return changes
}
