package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// node is one Redis server of a world. Registering miniredis' commands is a fifth of the cost of a short schedule, so a node is reused: reset
// empties it for the next world. Only the driver calls a node.
type node struct {
	index  int
	redis  *miniredis.Miniredis
	srv    *server.Server
	lua    *luaHost
	clock  nodeClock
	turn   uint64  // commands executed so far, handshakes excepted
	down   bool    // killed: connections are refused
	paused bool    // nothing is answered
	kept   dataset // of a killed node: the data with which it restarts
	had    dataset // of a killed node: its data when it was killed
	shard  *shard  // its place in a cluster; nil: it is in none
	reply  bytes.Buffer
	out    *bufio.Writer
	subs   subscriptions

	waiting []*request // blocked requests, the longest waiting first; some may be gone
	refused string     // a command that it received and does not execute as Redis does
	lacking string     // what a connection requested at its start and does without
	changes uint64     // hash of the commands that changed data, in order; used by states only

	mirror
	base     time.Time // of the run
	recorded int64     // when the last recorded effect was

	// scripts maps the digests that this server knows to sources; a restart forgets them, as in Redis.
	scripts map[string]string
	// touched lists the keys that commands have named, if the node replays a record.
	replays bool
	touched []string
}

// nodeClock converts the bubble's time to the node's: it may have an offset and another rate.
type nodeClock struct {
	offset time.Duration
	rate   float64   // 1 = true
	since  time.Time // the instant from which rate counts
}

func (c nodeClock) now(t time.Time) time.Time {
	drift := time.Duration(float64(t.Sub(c.since)) * (c.rate - 1))
	return t.Add(c.offset + drift)
}

// newNode starts a node. It must be called outside every bubble: the node serves many.
func newNode(index int) (*node, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	conn, err := m.Dial() // starts the server without a listener; conn itself is not used
	if err != nil {
		return nil, err
	}
	if err := conn.Close(); err != nil {
		return nil, err
	}
	n := &node{index: index, redis: m, srv: m.Server(), scripts: map[string]string{}}
	n.out = bufio.NewWriterSize(&n.reply, 512)
	n.lua = newLuaHost(n)
	return n, nil
}

// close ends the node for good.
func (n *node) close() {
	n.lua.close()
	n.redis.Close()
}

// reset empties the node for a new world that starts at t.
func (n *node) reset(t time.Time) {
	n.redis.FlushAll()
	n.clock = nodeClock{rate: 1, since: t}
	n.redis.SetTime(t)
	n.base, n.recorded, n.mirror = t, 0, mirror{data: map[string]*entry{}}
	n.turn, n.down, n.paused, n.shard = 0, false, false, nil
	n.subs, n.waiting, n.changes, n.refused, n.lacking = newSubscriptions(), nil, 0, "", ""
	clear(n.scripts)
}

// session is the server's state of one connection.
type session struct {
	peer *server.Peer
	conn *conn        // nil inside a script
	tx   *transaction // nil outside
}

func (n *node) newSession(cn *conn) *session { return &session{peer: server.NewPeer(n.out), conn: cn} }

// tick sets the server's clock from the bubble's time, which may end leases.
func (n *node) tick(t time.Time) {
	own := n.clock.now(t)
	n.redis.SetTime(own)
	n.endLeases(own.UnixNano())
}

// execute runs one command at bubble time t and returns the bytes of its reply, valid until the next call.
func (n *node) execute(s *session, args []string, t time.Time) []byte {
	n.tick(t)
	n.reply.Reset()
	n.dispatch(s, args)
	n.sync(t)
	s.peer.Flush()
	return n.reply.Bytes()
}

// dispatch runs the commands of this package and passes the others to miniredis.
func (n *node) dispatch(s *session, args []string) {
	name := strings.ToUpper(args[0])
	text := cmp.Or(n.refusal(name, args, toConn), n.misplaced(args), n.listens(s, name))
	if text != "" {
		if s.tx != nil {
			s.tx.failed = true
		}
		s.peer.WriteError(text)
		return
	}
	if !n.inTransaction(s, name, args) {
		n.run(s, name, args)
	}
}

// run runs a command that is not queued.
func (n *node) run(s *session, name string, args []string) {
	switch name {
	case "HELLO":
		n.hello(s, args[1:])
	case "EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO":
		n.lua.readOnly = strings.HasSuffix(name, "_RO")
		n.eval(s, strings.HasPrefix(name, "EVALSHA"), args[1:])
	case "SCRIPT":
		n.script(s, args[1:])
	default:
		n.command(s, name, args)
	}
}

// hello answers the handshake, without miniredis because every schedule opens new connections.
func (n *node) hello(s *session, args []string) {
	if len(args) == 0 || (args[0] != "2" && args[0] != "3") {
		s.peer.WriteError("NOPROTO unsupported protocol version")
		return
	}
	s.peer.Resp3 = args[0] == "3"
	s.peer.Block(func(w *server.Writer) {
		w.WriteMapLen(3)
		w.WriteBulk("server")
		w.WriteBulk("redis")
		w.WriteBulk("version")
		w.WriteBulk(version)
		w.WriteBulk("proto")
		w.WriteInt(2 + boolInt(s.peer.Resp3))
	})
}

// version is the Redis version with which these nodes are compared.
const version = "7.0.15"

// command runs a command that is neither a script nor about scripts.
func (n *node) command(s *session, name string, args []string) {
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
	case "WAIT":
		n.waitAtOnce(s, n.asRedisReads(name, args))
	case "FLUSHALL", "FLUSHDB":
		if len(args) > 2 || len(args) == 2 && !strings.EqualFold(args[1], "SYNC") && !strings.EqualFold(args[1], "ASYNC") {
			s.peer.WriteError("ERR syntax error")
			return
		}
		n.removeAll()
		s.peer.WriteOK()
	case "TTL":
		s.peer.WriteInt(n.secondsLeft(args[1]))
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
func (n *node) native(to *server.Peer, name string, args []string) {
	args = n.asRedisReads(name, args)
	n.writes(name, args)
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
		n.checkScores(args)
	}
}

// secondsLeft is the reply to TTL: Redis rounds to the nearest second, miniredis down.
func (n *node) secondsLeft(key string) int {
	db := n.redis.DB(0)
	switch left := db.TTL(key); {
	case !db.Exists(key):
		return -2
	case left == 0:
		return -1
	default:
		return int((left + time.Second/2) / time.Second)
	}
}

// setRate changes the clock's rate from now on, without a jump. Like jump, it returns for which keys that changes when they expire by true time.
func (n *node) setRate(t time.Time, rate float64) []history.DataChange {
	n.tick(t)
	n.clock.offset = n.clock.now(t).Sub(t)
	n.clock.rate, n.clock.since = rate, t
	return n.retime()
}

// jump moves the node's clock, which may end leases. Redis stores the instant at which a key expires, miniredis the remaining time, so a jump back must
// lengthen the remaining time.
func (n *node) jump(t time.Time, by time.Duration) []history.DataChange {
	n.tick(t)
	n.clock.offset += by
	if db := n.redis.DB(0); by < 0 {
		for _, key := range db.Keys() {
			if left := db.TTL(key); left > 0 {
				db.SetTTL(key, left-by)
			}
		}
	}
	changes := n.retime()
	n.tick(t)
	return changes
}
