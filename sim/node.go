package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/explain"
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

	// scripts maps the digests that this server knows to sources; a restart forgets them, as in Redis.
	scripts map[string]string
	// touched lists the keys that commands have named, if named is set.
	named   bool
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
func (n *node) tick(t time.Time) { n.redis.SetTime(n.clock.now(t)) }

// execute runs one command at bubble time t and returns the bytes of its reply, valid until the next call.
func (n *node) execute(s *session, args []string, t time.Time) []byte {
	n.tick(t)
	n.reply.Reset()
	n.dispatch(s, args)
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
	if n.named {
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
		for _, key := range n.redis.DB(0).Keys() {
			n.redis.DB(0).Del(key) // emptying the database would not change watched keys
		}
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

// setRate changes the clock's rate from now on, without a jump.
func (n *node) setRate(t time.Time, rate float64) {
	n.clock.offset = n.clock.now(t).Sub(t)
	n.clock.rate, n.clock.since = rate, t
}

// setRight sets the clock to the true time and rate.
func (n *node) setRight(t time.Time) {
	n.setRate(t, 1)
	n.jump(t, -n.clock.offset)
}

// jump moves the node's clock. Redis stores the instant at which a key expires, miniredis the remaining time, so a jump back must lengthen the
// remaining time.
func (n *node) jump(t time.Time, by time.Duration) {
	n.tick(t)
	n.clock.offset += by
	if by >= 0 {
		n.tick(t)
		return
	}
	db := n.redis.DB(0)
	for _, key := range db.Keys() {
		if left := db.TTL(key); left > 0 {
			db.SetTTL(key, left-by)
		}
	}
	n.tick(t)
}

// Server is a single simulated node, for comparisons with a real one: it answers one request at a time, by the caller's clock, and has no network.
// It is not safe for concurrent use.
type Server struct {
	node    *node
	session *session
	at      time.Time // of the last request
}

// NewServer starts an empty node. The caller closes it. An error comes from miniredis.
func NewServer() (*Server, error) {
	n, err := newNode(0)
	if err != nil {
		return nil, err
	}
	n.reset(time.Now())
	n.named = true
	return &Server{node: n, session: n.newSession(nil)}, nil
}

// Do runs one request at an instant and returns its reply in wire form, valid until the next call. It does not support subscriptions, which need a
// network. A blocking command without data replies at once, as after its time-out.
func (s *Server) Do(at time.Time, args []string) []byte {
	s.at, s.node.touched = at, s.node.touched[:0]
	name := strings.ToUpper(args[0])
	if _, blocks := blocking[name]; !blocks || s.session.tx != nil {
		return s.node.execute(s.session, args, at)
	}
	args = upper(name, args)
	if text := s.node.refusal(name, args, toConn); text != "" {
		return failure(text)
	}
	if _, text := timeout(args); text != "" {
		return failure(text)
	}
	s.node.tick(at)
	reply, _ := s.node.take(s.session, args)
	return reply
}

// Close closes the node.
func (s *Server) Close() { s.node.close() }

// A Server replays commands for explanations.
var _ explain.Server = (*Server)(nil)

// Load replaces all data of the server, leaving out what has expired by at.
func (s *Server) Load(at time.Time, values map[string]*explain.Value) {
	d := dataset{entries: make([]entry, 0, len(values))}
	for key, v := range values {
		d.entries = append(d.entries, entry{key, *v})
	}
	slices.SortFunc(d.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	s.node.load(d, at)
}

// Touched returns the keys that the last Do named, including those of commands in its script.
func (s *Server) Touched() []string { return s.node.touched }

// Value copies what a key holds; nil: there is none.
func (s *Server) Value(key string) *explain.Value {
	db := s.node.redis.DB(0)
	if !db.Exists(key) {
		return nil
	}
	v := valueOf(db, key, s.at)
	return &v
}

// dataset is a copy of all data of a node, with the instants (by the node's own clock) at which keys expire, as Redis writes them to disk and to
// replicas.
type dataset struct {
	entries []entry // in order of key
	at      time.Time
	turn    uint64 // of the last command or deletion that the node had executed
}

// entry is a key with its value.
type entry struct {
	key string
	explain.Value
}

// copy reads all data of the node at bubble time t.
func (n *node) copy(t time.Time) dataset {
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	d := dataset{at: t, turn: n.turn}
	for _, key := range db.Keys() {
		d.entries = append(d.entries, entry{key, valueOf(db, key, own)})
	}
	return d
}

// valueOf reads one key at a node's own time.
func valueOf(db *miniredis.RedisDB, key string, own time.Time) explain.Value {
	v := explain.Value{Kind: db.Type(key)}
	switch v.Kind {
	case "string":
		v.Text, _ = db.Get(key)
	case "hash":
		names, _ := db.HKeys(key)
		v.Fields = make(map[string]string, len(names))
		for _, f := range names {
			v.Fields[f] = db.HGet(key, f)
		}
	case "list":
		v.Items, _ = db.List(key)
		v.Items = slices.Clone(v.Items)
	case "set":
		v.Items, _ = db.Members(key)
	case "zset":
		scores, _ := db.SortedSet(key)
		v.Scores = maps.Clone(scores) // miniredis returns its own map
	}
	if left := db.TTL(key); left > 0 {
		v.Expires = own.Add(left).UnixNano()
	}
	return v
}

// load replaces all data of the node by a copy, leaving out what has expired meanwhile.
func (n *node) load(d dataset, t time.Time) {
	n.redis.FlushAll()
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	for _, e := range d.entries {
		if e.Expires != 0 && e.Expires <= own.UnixNano() {
			continue
		}
		switch e.Kind {
		case "string":
			_ = db.Set(e.key, e.Text) // fails only for a key of another type, and the node is empty
		case "hash":
			for _, f := range slices.Sorted(maps.Keys(e.Fields)) {
				db.HSet(e.key, f, e.Fields[f])
			}
		case "list":
			_, _ = db.Push(e.key, e.Items...)
		case "set":
			_, _ = n.redis.SetAdd(e.key, e.Items...)
		case "zset":
			for _, m := range slices.Sorted(maps.Keys(e.Scores)) {
				_, _ = db.ZAdd(e.key, e.Scores[m], m)
			}
		}
		if e.Expires != 0 {
			db.SetTTL(e.key, time.Unix(0, e.Expires).Sub(own))
		}
	}
}

// lostTo returns the keys of d, split by whether later has them.
func (d dataset) lostTo(later dataset) (kept, lost []string) {
	for _, e := range d.entries {
		if slices.ContainsFunc(later.entries, func(o entry) bool { return o.key == e.key }) {
			kept = append(kept, e.key)
		} else {
			lost = append(lost, e.key)
		}
	}
	return kept, lost
}

// holdsAs reports whether two nodes have the same keys with the same values, whatever their expiry times.
func (d dataset) holdsAs(other dataset) bool {
	return slices.EqualFunc(d.entries, other.entries, func(a, b entry) bool {
		a.Expires, b.Expires = 0, 0
		return reflect.DeepEqual(a, b)
	})
}

// digest returns a hash of the data and of their expiry times.
func (d dataset) digest() uint64 {
	h := uint64(hashStart)
	for _, e := range d.entries {
		h = mixText(mixText(mixText(h, e.key), e.Kind), e.Text)
		for _, f := range slices.Sorted(maps.Keys(e.Fields)) {
			h = mixText(mixText(h, f), e.Fields[f])
		}
		for _, i := range e.Items {
			h = mixText(h, i)
		}
		for _, m := range slices.Sorted(maps.Keys(e.Scores)) {
			h = mix(mixText(h, m), math.Float64bits(e.Scores[m]))
		}
		h = mix(h, uint64(len(e.Fields)+len(e.Items)+len(e.Scores)), uint64(e.Expires))
	}
	return h
}
