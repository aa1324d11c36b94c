package fakeredis

import (
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/internal/resp"
)

// What a node does not do exactly as Redis does, it refuses; a schedule in which a lock sent such a
// command is no evidence about the lock.

// exact lists the commands that nodes execute exactly as Redis does, as random sequences against
// redis-server show. Any other is refused by name.
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

// near lists commands that miniredis knows and that were not compared with redis-server in that
// way. A replay executes them, too: it compares each reply with the recorded one. What a node
// cannot copy, such as a stream, is not among them.
var near = names(`SETBIT GETBIT BITCOUNT BITPOS BITOP COPY INCRBYFLOAT HINCRBYFLOAT SUNION SUNIONSTORE SINTER SINTERSTORE SDIFF SDIFFSTORE ZUNIONSTORE
	ZINTERSTORE ZRANGESTORE ZREVRANGEBYLEX ZRANGEBYLEX ZLEXCOUNT ZREMRANGEBYLEX HSCAN SSCAN ZSCAN SCAN`)

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

// refusal returns the error for a command that a node does not do, from a connection or a script;
// "" if it does. One that only Redis does ends the schedule.
func (n *Node) refusal(name string, args []string, inScript bool) string {
	name = full(name, args)
	words := resp.Words(name)
	wrongNumber := words > 0 && len(args) != words || len(args) < -words
	switch {
	case words == 0 && inScript:
		return "ERR Unknown Redis command called from script"
	case words == 0:
		return "ERR unknown command '" + strings.ToLower(name) + "'"
	case !exact[name] && !n.serves && !(n.replays && near[name]):
		return n.refuse(strings.Replace(name, "|", " ", 1))
	case wrongNumber && inScript:
		return "ERR Wrong number of args calling Redis command from script"
	case wrongNumber:
		return "ERR wrong number of arguments for '" + strings.ToLower(name) + "' command"
	case name == "SELECT":
		if number, err := strconv.Atoi(args[1]); err == nil && number > 0 && number < databases {
			return n.refuse("SELECT " + args[1])
		}
	case name == "MULTI" && n.shard != nil:
		return n.refuse("MULTI to a cluster")
	}
	return ""
}

// refuse notes what the node received and does not do as Redis does, which ends the schedule, and
// returns the error for it.
func (n *Node) refuse(what string) string {
	n.refused = what
	return "ERR " + what + " is not simulated"
}

// databases is how many databases a Redis server has; nodes have the first.
const databases = 16

// failure returns the wire form of an error.
func failure(text string) []byte { return []byte("-" + text + "\r\n") }

// alone runs a command outside every connection, in RESP2, and returns a copy of its reply.
func (n *Node) alone(args []string) []byte {
	h := n.lua
	h.buf.Reset()
	if n.replays {
		n.touched = append(n.touched, resp.Keys(args)...)
	}
	n.native(h.peer, args[0], args)
	h.peer.Flush()
	defer h.buf.Reset() // a script's reply may follow
	return append([]byte(nil), h.buf.Bytes()...)
}

func upper(name string, args []string) []string { return append([]string{name}, args[1:]...) }
