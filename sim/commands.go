package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/fpconv"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

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
	member, rest, _ := strings.Cut(strings.TrimPrefix(string(b), "*2\r\n$"), "\r\n")
	size, err := strconv.Atoi(member)
	if err != nil || len(rest) < size {
		return nil, false // an empty array
	}
	score := strings.Split(rest[size+2:], "\r\n")[1]
	if s.peer.Resp3 {
		return []byte("*3\r\n" + bulk(key) + bulk(rest[:size]) + "," + score + "\r\n"), true
	}
	return pushed(false, []string{key, rest[:size], score}), true
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

// Redis and miniredis read arguments differently. A node passes them on as Redis reads them, answers what Redis refuses, and refuses what it cannot do.

// argumentError returns the error for arguments that miniredis accepts and Redis does not; "" if there are none.
func (n *node) argumentError(name string, args []string) string {
	switch name {
	case "INCR", "INCRBY", "DECR", "DECRBY", "HINCRBY":
		return n.counterError(name, args)
	case "SET":
		return n.setError(args[3:])
	case "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "EXPIREAT":
		return n.leaseError(name, name[0] != 'P', args[2])
	case "LMOVE":
		if !isSide(args[3]) || !isSide(args[4]) {
			return "ERR syntax error"
		}
	case "SELECT":
		if number, err := strconv.Atoi(args[1]); err == nil && number != 0 {
			return "ERR DB index is out of range"
		}
	case "SETRANGE":
		if at, err := strconv.Atoi(args[2]); err == nil && at > longestText {
			return n.refuse("SETRANGE beyond what a value may have")
		}
	case "PING":
		if len(args) > 1 && args[1] == "" {
			return n.refuse("PING with an empty text")
		}
	case "GETEX":
		return n.getexError(args)
	case "ZADD", "ZINCRBY":
		for i := len(args) - 2; i > 1; i -= 2 {
			if f, ok := decimal(args[i]); ok && f == 0 && math.Signbit(f) {
				return n.refuse("a score of -0")
			}
		}
		if hasWord(args[2:], "INCR") && (hasWord(args[2:], "GT") || hasWord(args[2:], "LT")) {
			return n.refuse("ZADD INCR with GT or LT")
		}
	case "ZRANGE":
		if twice(args[4:], "REV") || twice(args[4:], "BYSCORE") || twice(args[4:], "BYLEX") {
			return "ERR syntax error"
		}
	}
	return ""
}

func (n *node) counterError(name string, args []string) string {
	if name == "HINCRBY" {
		switch value := n.redis.HGet(args[1], args[2]); {
		case notInteger(value):
			return "ERR hash value is not an integer"
		case overflows(value, args[3]):
			return "ERR increment or decrement would overflow"
		}
		return ""
	}
	if text, err := n.redis.Get(args[1]); err == nil && notInteger(text) {
		return "ERR value is not an integer or out of range"
	}
	if name == "DECRBY" && args[2] == strconv.Itoa(math.MinInt64) {
		return "ERR decrement would overflow"
	}
	return ""
}

func (n *node) getexError(args []string) string {
	if kind := n.redis.DB(0).Type(args[1]); kind != "" && kind != "string" { // miniredis sets the lease all the same
		if r, _ := resp.ParseReply(n.alone(slices.Concat([]string{"GETEX", missing}, args[2:]))); r.IsError() {
			return "ERR syntax error"
		}
		return msgWrongType
	}
	if persists := twice(args[2:], "PERSIST"); persists || len(args) == 4 && strings.HasSuffix(strings.ToUpper(args[2]), "XAT") {
		return n.refuse("GETEX " + strings.ToUpper(args[2]))
	}
	if len(args) == 4 && n.redis.Exists(args[1]) {
		return n.leaseError("GETEX", strings.EqualFold(args[2], "EX"), args[3])
	}
	return ""
}

// missing is a key that no node has.
const missing = "\x00"

// msgWrongType is the error for a key of another type.
const msgWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

const longestText = 512 << 20

func twice(words []string, option string) bool {
	first := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, option) })
	return first >= 0 && hasWord(words[first+1:], option)
}

func hasWord(words []string, option string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, option) })
}

func isSide(word string) bool {
	return strings.EqualFold(word, "LEFT") || strings.EqualFold(word, "RIGHT")
}

// notInteger reports whether a text parses as a whole number here but not in Redis, such as 010.
func notInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && text != "0" && (text[0] == '+' || strings.TrimPrefix(text, "-")[0] == '0')
}

// overflows reports whether a whole number, or none for 0, leaves the numbers of 64 bits when another is added.
func overflows(value, by string) bool {
	old, err := strconv.ParseInt(cmp.Or(value, "0"), 10, 64)
	delta, none := strconv.ParseInt(by, 10, 64)
	return err == nil && none == nil && (delta > 0 && old > math.MaxInt64-delta || delta < 0 && old < math.MinInt64-delta)
}

// integers has the arguments that Redis reads as whole numbers, by command: for it 01, +1 and -0 are none.
var integers = map[string][]int{
	"EXPIRE": {2}, "PEXPIRE": {2}, "EXPIREAT": {2}, "PEXPIREAT": {2}, "SETEX": {2}, "PSETEX": {2}, "SELECT": {1}, "LINDEX": {2}, "LSET": {2}, "LREM": {2},
	"WAIT": {1, 2}, "LPOP": {2}, "RPOP": {2}, "ZPOPMIN": {2}, "ZPOPMAX": {2}, "LMPOP": {1}, "INCRBY": {2}, "DECRBY": {2}, "HINCRBY": {3}, "SETRANGE": {2},
	"GETRANGE": {2, 3}, "LRANGE": {2, 3}, "LTRIM": {2, 3}, "ZREVRANGE": {2, 3}, "ZREMRANGEBYRANK": {2, 3},
}

// options has the commands with options of counted, with the first argument that may be one.
var options = map[string]int{"SET": 3, "GETEX": 2, "LPOS": 3, "LMPOP": 3, "ZRANGE": 4, "ZRANGEBYSCORE": 4, "ZREVRANGEBYSCORE": 4}

// counted has the options that a whole number follows, or two.
var counted = map[string]int{"EX": 1, "PX": 1, "EXAT": 1, "PXAT": 1, "COUNT": 1, "RANK": 1, "MAXLEN": 1, "LIMIT": 2}

// countedIn appends the numbers that follow options, from an argument on.
func countedIn(at []int, args []string, first int) []int {
	for i := first; i < len(args); i++ {
		if len(args[i]) > len("MAXLEN") {
			continue
		}
		for k := range counted[strings.ToUpper(args[i])] {
			at = append(at, i+1+k)
		}
	}
	return at
}

// looksFirst has the commands for which Redis looks at the key before it reads a number, with the type that the key must have.
var looksFirst = map[string]string{"LINDEX": "list", "LSET": "list", "GETEX": "string"}

// asRedisReads returns the arguments with "none" for what only miniredis takes for a whole number, and a right one where Redis does not read it.
func (n *node) asRedisReads(name string, args []string) []string {
	at := integers[name]
	if name == "ZRANGE" && !hasWord(args[4:], "BYSCORE") && !hasWord(args[4:], "BYLEX") {
		at = []int{2, 3}
	}
	if first, has := options[name]; has {
		at = countedIn(slices.Clip(at), args, first)
	}
	args = scoresAsRead(name, args)
	if name == "LREM" && args[2] == strconv.Itoa(math.MinInt64) {
		args = slices.Clone(args)
		args[2] = strconv.Itoa(-math.MaxInt64) // all of them, too
	}
	want, looks := looksFirst[name]
	unread := looks && n.redis.DB(0).Type(args[1]) != want
	for _, i := range at {
		if i >= len(args) {
			continue
		}
		word := args[i]
		if notInteger(word) {
			word = "none"
		}
		if unread {
			word = "1"
		}
		if word != args[i] {
			args = slices.Clone(args)
			args[i] = word
		}
	}
	return args
}

// scoresAsRead writes scores that C reads and Go does not, such as 0x10, as Go does, and makes none of nan.
func scoresAsRead(name string, args []string) []string {
	from, to, step := 2, min(3, len(args)-1), 1
	switch name {
	case "ZINCRBY":
		to = 2
	case "ZADD":
		from, to, step = 2+len(args)%2, len(args)-2, 2 // options may come first
	case "ZRANGE":
		if !hasWord(args[4:], "BYSCORE") {
			return args
		}
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
	default:
		return args
	}
	for i := from; i <= to; i += step {
		text := strings.TrimPrefix(args[i], "(")
		f, ok := decimal(text)
		if _, err := strconv.ParseFloat(text, 64); !ok || err == nil && !math.IsNaN(f) {
			continue
		}
		args = slices.Clone(args)
		if number := strconv.FormatFloat(f, 'g', -1, 64); math.IsNaN(f) {
			args[i] = "none"
		} else {
			args[i] = strings.TrimSuffix(args[i], text) + number
		}
	}
	return args
}

// checkScores refuses scores that this version of Redis writes in another way than miniredis, such as 0.1, which has 17 digits, or 1e17.
func (n *node) checkScores(args []string) {
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

func (n *node) setError(options []string) string {
	given := map[string]bool{} // an option may be there twice, but not two of a kind
	for i, word := range options {
		switch word = strings.ToUpper(word); word {
		case "NX", "XX", "KEEPTTL":
			given[word] = true
		case "EX", "PX", "EXAT", "PXAT":
			given[word] = true
			if i+1 == len(options) {
				continue
			}
			if word == "PXAT" && tooLong(false, options[i+1]) {
				return n.refuse("SET PXAT " + options[i+1])
			}
			if text := n.leaseError("SET", word[0] == 'E', options[i+1]); text != "" {
				return text
			}
		}
	}
	conditions := boolInt(given["NX"]) + boolInt(given["XX"])
	if conditions > 1 || len(given)-conditions > 1 {
		return "ERR syntax error"
	}
	return ""
}

// leaseError returns the error for a lease in seconds or milliseconds that is too long; "" if it is not.
func (n *node) leaseError(name string, seconds bool, lease string) string {
	switch {
	case tooLong(seconds, lease):
		return "ERR invalid expire time in '" + strings.ToLower(name) + "' command"
	case beyond(seconds, lease):
		return n.refuse("a lease of 292 years")
	}
	return ""
}

// beyond reports whether a lease is longer than the 292 years that a time.Duration has.
func beyond(seconds bool, text string) bool {
	unit := int64(time.Millisecond)
	if seconds {
		unit = int64(time.Second)
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return err == nil && number > math.MaxInt64/unit
}

// tooLong reports whether a lease in seconds or milliseconds ends when Redis can count no more milliseconds.
func tooLong(seconds bool, text string) bool {
	const century = 100 * 365 * 24 * 3600 * 1000 // longer than from 1970 to now
	number, err := strconv.ParseInt(text, 10, 64)
	if seconds {
		return err == nil && (number > (math.MaxInt64-century)/1000 || number < math.MinInt64/1000)
	}
	return err == nil && number > math.MaxInt64-century
}
