package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// What a node does not do exactly as Redis does, it refuses; a schedule in which a lock sent such a command is no evidence about the lock.

// exact lists the commands that nodes execute exactly as Redis does, as random sequences against redis-server show. Any other is refused by name.
var exact = names(`
	DBSIZE TIME READONLY FLUSHALL FLUSHDB PING COMMAND GET GETDEL INCR DECR STRLEN TYPE KEYS PERSIST TTL PTTL PEXPIRETIME HGETALL HKEYS HLEN
	HVALS LLEN SCARD SMEMBERS ZCARD ECHO SELECT GETEX MGET DEL UNLINK EXISTS TOUCH LPOP RPOP ZPOPMIN ZPOPMAX SCRIPT PUBSUB CLIENT CLUSTER DELEX
	SETNX GETSET INCRBY DECRBY APPEND RENAME RENAMENX HGET HEXISTS HSTRLEN LINDEX RPOPLPUSH SISMEMBER ZSCORE ZRANK ZREVRANK PUBLISH SET MSET
	MSETNX EXPIRE PEXPIRE EXPIREAT PEXPIREAT HMGET HDEL LPUSH LPUSHX RPUSH RPUSHX LPOS SADD SREM SMISMEMBER ZREM ZMSCORE SETEX PSETEX GETRANGE
	SETRANGE HSETNX HINCRBY LRANGE LREM LSET LTRIM SMOVE ZCOUNT ZINCRBY ZREMRANGEBYSCORE ZREMRANGEBYRANK HSET HMSET LMPOP ZADD ZRANGE
	ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE LINSERT LMOVE BLMPOP MULTI EXEC DISCARD UNWATCH UNSUBSCRIBE PUNSUBSCRIBE HELLO QUIT WATCH SUBSCRIBE
	PSUBSCRIBE AUTH WAIT BLPOP BRPOP BZPOPMIN BZPOPMAX EVAL EVALSHA EVAL_RO EVALSHA_RO BRPOPLPUSH BLMOVE
	CLUSTER|SLOTS PUBSUB|NUMSUB PUBSUB|CHANNELS CLUSTER|KEYSLOT CLIENT|GETNAME SCRIPT|FLUSH CLIENT|SETNAME SCRIPT|LOAD CLIENT|TRACKING
	SCRIPT|EXISTS`)

// containers are the commands whose second word names what they do; exact has both words.
var containers = names("CLIENT CLUSTER COMMAND PUBSUB SCRIPT")

// full returns the name of a command, with its second word if that says what it does.
func full(name string, args []string) string {
	if containers[name] && len(args) > 1 {
		return name + "|" + strings.ToUpper(args[1])
	}
	return name
}

func names(text string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(text) {
		set[name] = true
	}
	return set
}

// The errors for commands that are none, or have a wrong number of words, from a connection and from a script.
var (
	toConn   = wording{"ERR unknown command '%s'", "ERR wrong number of arguments for '%s' command"}
	toScript = wording{"ERR Unknown Redis command called from script", "ERR Wrong number of args calling Redis command from script"}
)

type wording struct{ unknown, words string }

func (w wording) of(text, name string) string {
	return strings.Replace(text, "%s", strings.ToLower(name), 1)
}

// refusal returns the error for a command that a node does not do, in the words given; "" if it does. One that only Redis does ends the schedule.
func (n *node) refusal(name string, args []string, w wording) string {
	name = full(name, args)
	words := resp.Words(name)
	switch {
	case words == 0:
		return w.of(w.unknown, name)
	case !exact[name]:
		return n.refuse(strings.Replace(name, "|", " ", 1))
	case words > 0 && len(args) != words, len(args) < -words:
		return w.of(w.words, name)
	case name == "SELECT" && otherDatabase(args[1]):
		return n.refuse("SELECT " + args[1])
	case name == "MULTI" && n.shard != nil:
		return n.refuse("MULTI to a cluster")
	}
	return ""
}

// refuse notes what the node received and does not do as Redis does, which ends the schedule, and returns the error for it.
func (n *node) refuse(what string) string {
	n.refused = what
	return "ERR " + what + " is not simulated"
}

// databases is how many databases a Redis server has; nodes have the first.
const databases = 16

func otherDatabase(text string) bool {
	number, err := strconv.Atoi(text)
	return err == nil && number > 0 && number < databases
}

// blocking lists the commands that wait for data, with the index of their time-out argument; a negative index counts from the end.
var blocking = map[string]int{"BLPOP": -1, "BRPOP": -1, "BLMOVE": -1, "BRPOPLPUSH": -1, "BZPOPMIN": -1, "BZPOPMAX": -1, "BLMPOP": 1}

// timeout returns the time-out of a blocking command, or an error text.
func timeout(args []string) (d time.Duration, text string) {
	at := blocking[args[0]]
	if at < 0 {
		at += len(args)
	}
	seconds, ok := decimal(args[at])
	switch {
	case !ok, strings.ContainsAny(args[at], " \t\r\n"), math.IsNaN(seconds), seconds > math.MaxInt64/1000: // Redis counts milliseconds
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	}
	return time.Duration(min(seconds, math.MaxInt64/float64(time.Second)-1) * float64(time.Second)), ""
}

// take executes a blocking command if there is data; ok is false if there is none.
func (n *node) take(s *session, args []string) (reply []byte, ok bool) {
	switch name := args[0]; name {
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		for _, key := range args[1 : len(args)-1] {
			if reply, ok := n.popFrom(s, name[1:], key); ok {
				return reply, true
			}
		}
		return null(s, "*-1"), false
	case "BLMOVE":
		reply = n.alone([]string{"LMOVE", args[1], args[2], args[3], args[4]})
	case "BRPOPLPUSH":
		reply = n.alone([]string{"RPOPLPUSH", args[1], args[2]})
	case "BLMPOP":
		reply = n.alone(append([]string{"LMPOP"}, args[2:]...))
	}
	if r, _ := resp.ParseReply(reply); !r.IsNil() {
		return reply, true
	}
	return null(s, "*-1"), false
}

// null returns the null reply, which in RESP2 has a type.
func null(s *session, resp2 string) []byte {
	if s.peer.Resp3 {
		return []byte("_\r\n")
	}
	return []byte(resp2 + "\r\n")
}

// popFrom pops from one key, and returns the key with the value.
func (n *node) popFrom(s *session, name, key string) ([]byte, bool) {
	b := n.alone([]string{name, key})
	r, ok := resp.ParseReply(b)
	switch {
	case !ok || r.IsNil():
		return nil, false
	case r.IsError():
		return b, true
	case name == "LPOP" || name == "RPOP":
		return pushed(false, []string{key, string(r.Str())}), true
	}
	popped := slices.Collect(r.Items()) // a member and its score
	if len(popped) == 0 {
		return nil, false
	}
	member, score := string(popped[0].Str()), string(popped[1].Str())
	if s.peer.Resp3 {
		return []byte("*3\r\n" + bulk(key) + bulk(member) + "," + score + "\r\n"), true
	}
	return pushed(false, []string{key, member, score}), true
}

// failure returns the wire form of an error.
func failure(text string) []byte { return []byte("-" + text + "\r\n") }

func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// alone runs a command outside every connection, in RESP2, and returns a copy of its reply.
func (n *node) alone(args []string) []byte {
	h := n.lua
	h.buf.Reset()
	if n.named {
		n.touched = append(n.touched, resp.Keys(args)...)
	}
	n.native(h.peer, args[0], args)
	h.peer.Flush()
	defer h.buf.Reset() // a script's reply may follow
	return append([]byte(nil), h.buf.Bytes()...)
}

type transaction struct {
	queued [][]string
	failed bool // a command was refused when it was queued
}

// inTransaction runs MULTI, EXEC and DISCARD and queues what comes between; done means nothing is left to do. miniredis runs WATCH.
func (n *node) inTransaction(s *session, name string, args []string) (done bool) {
	tx := s.tx
	switch {
	case tx == nil && name != "MULTI":
		return false
	case tx == nil:
		s.tx = &transaction{}
		s.peer.WriteOK()
	case name == "MULTI":
		s.peer.WriteError("ERR MULTI calls can not be nested")
	case name == "WATCH":
		s.peer.WriteError("ERR WATCH inside MULTI is not allowed")
	case name == "DISCARD":
		s.tx = nil
		n.unwatch(s)
		s.peer.WriteOK()
	case name == "EXEC":
		s.tx = nil
		n.exec(s, tx)
	default:
		tx.queued = append(tx.queued, args)
		s.peer.WriteInline("QUEUED")
	}
	return true
}

// exec runs what was queued, unless a key that the connection watches has changed.
func (n *node) exec(s *session, tx *transaction) {
	if tx.failed {
		n.unwatch(s)
		s.peer.WriteError("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	if n.changedSinceWatch(s) {
		s.peer.WriteRaw(string(null(s, "*-1")))
		return
	}
	s.peer.WriteLen(len(tx.queued))
	for _, args := range tx.queued {
		n.run(s, strings.ToUpper(args[0]), args)
	}
}

// atOnce runs a blocking command that must not wait, in a transaction or a script.
func (n *node) atOnce(s *session, name string, args []string) {
	args = upper(name, args)
	if _, text := timeout(args); text != "" {
		s.peer.WriteError(text)
		return
	}
	b, there := n.take(s, args)
	if !there && (name == "BLMOVE" || name == "BRPOPLPUSH") {
		b = null(s, "$-1")
	}
	s.peer.WriteRaw(string(b))
}

func upper(name string, args []string) []string { return append([]string{name}, args[1:]...) }

// changedSinceWatch runs an empty transaction of miniredis, which knows the watched keys; that ends the watching.
func (n *node) changedSinceWatch(s *session) bool {
	ask := server.NewPeer(n.lua.scratch())
	ask.Ctx, ask.Resp3 = s.peer.Ctx, false
	n.srv.Dispatch(ask, []string{"MULTI"})
	ask.Flush()
	n.lua.buf.Reset()
	n.srv.Dispatch(ask, []string{"EXEC"})
	ask.Flush()
	s.peer.Ctx = ask.Ctx
	return strings.HasPrefix(n.lua.buf.String(), "*-1") || strings.HasPrefix(n.lua.buf.String(), "_")
}

func (n *node) unwatch(s *session) { n.changedSinceWatch(s) }

// execute runs a request at its node. answered is false if the node replies later, or if the request gets no reply of its own now.
func (w *world) execute(q *request) (reply []byte, answered bool) {
	if _, blocks := blocking[q.name]; (blocks || q.name == "WAIT") && q.conn.session.tx == nil {
		serve := w.blockingPop
		if q.name == "WAIT" {
			serve = w.wait
		}
		if reply, answered = serve(q); answered {
			w.ran(q)
			if blocks {
				w.changed(q)
			}
		}
		return reply, answered
	}
	reply = w.perform(q.conn, q.args)
	switch q.name {
	case "WATCH":
		q.conn.watches = true
	case "UNWATCH", "EXEC", "DISCARD":
		q.conn.watches = false
	}
	w.ran(q)
	if resp.IsWrite(q.name) || q.name == "EXEC" {
		reply = append([]byte(nil), reply...)
		w.changed(q)
	}
	return reply, true
}

// endRefused ends the schedule if a node was sent a command that it refused by name.
func (w *world) endRefused(n *node) {
	if n.refused != "" && w.out.Crash == "" {
		w.out.Unexplorable = true
		w.out.Crash = w.program.Variant.Name + " sends " + n.refused + ", which the simulator does not do as Redis does"
	}
}

// changed informs the replica and blocked requests that a request may have changed data.
func (w *world) changed(q *request) {
	w.written(q.conn.server)
	w.retryParked(q.conn.server)
}

// ran records when a node executed a command, and its position.
func (w *world) ran(q *request) {
	if q.handshake {
		return
	}
	n := q.conn.server
	n.turn++
	c := &q.conn.client.commands[q.command]
	c.Turn, c.Ran = n.turn, w.timeline()
}

// saved returns what is left of a node's data if its process is killed now: with persistence everything, because Redis hands it to the operating
// system, which survives, before it replies. What everysec risks is lost only when the machine fails.
func (w *world) saved(n *node) dataset {
	if w.program.Persistence == impls.PersistNone || w.program.Persistence == "" {
		return dataset{}
	}
	return n.copy(w.clock())
}

// blockingPop runs a command that waits for data. It takes what is there at once; while it waits, it ignores a key that gets another type.
func (w *world) blockingPop(q *request) ([]byte, bool) {
	n, args := q.conn.server, upper(q.name, q.args)
	text := cmp.Or(n.refusal(q.name, args, toConn), n.misplaced(args))
	if text != "" {
		return failure(text), true
	}
	d, text := timeout(args)
	if text != "" {
		return failure(text), true
	}
	return w.park(q, d, func(force bool) ([]byte, bool) {
		n.tick(w.clock())
		reply, ok := w.takes(q, args)
		if r, _ := resp.ParseReply(reply); ok && r.IsError() && q.conn.parked == q {
			return null(q.conn.session, "*-1"), force
		}
		return reply, ok || force
	})
}

// park keeps a request at the server until it can be answered, or until d is over; d 0 means for ever.
func (w *world) park(q *request, d time.Duration, answer func(force bool) ([]byte, bool)) ([]byte, bool) {
	if b, ok := answer(false); ok {
		return b, true
	}
	q.answer, q.parkedAt = answer, w.timeline()
	q.conn.parked = q
	n := q.conn.server
	n.waiting = append(slices.DeleteFunc(n.waiting, gone), q)
	if d > 0 {
		w.after(d, func() {
			if q.conn.parked == q {
				w.unpark(q, true)
			}
		})
	}
	return nil, false
}

func (w *world) unpark(q *request, force bool) {
	b, ok := q.answer(force)
	if !ok {
		return
	}
	q.conn.parked = nil
	w.ran(q)
	if q.name != "WAIT" {
		w.written(q.conn.server)
	}
	w.answered(q, b)
}

// retryParked retries the requests that wait at a node, the longest waiting first.
func (w *world) retryParked(n *node) {
	for left := len(n.waiting) + 1; len(n.waiting) < left; { // one reply may provide what another request waits for
		for _, q := range slices.Clone(n.waiting) {
			if !gone(q) {
				w.unpark(q, false)
			}
		}
		left = len(n.waiting)
		n.waiting = slices.DeleteFunc(n.waiting, gone)
	}
}

// gone reports whether a request waits no longer: it was answered, or its connection has ended.
func gone(q *request) bool { return q.conn.parked != q }
