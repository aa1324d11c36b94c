package resp

import "strings"

// command is what the name of a command says about it.
type command struct {
	name  string
	key   int // the argument that holds the first key; 0 = none, numKeys = behind a count of keys
	write bool
}

// numKeys marks commands whose keys are behind their number: EVAL script numkeys key …
const numKeys = -1

// commands has the commands by name. Scripts and functions count as writing, because their effect is unknown; so do
// EXEC, whose transaction takes effect then, and PUBLISH, which wakes others.
var commands = table(
	group{key: 1, write: true, names: `APPEND BITFIELD BLMOVE BLPOP BRPOP BRPOPLPUSH BZPOPMAX BZPOPMIN COPY DECR DECRBY DEL
		DELEX DELIFEQ EXPIRE EXPIREAT GEOADD GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE GETDEL GETEX GETSET HDEL HEXPIRE
		HEXPIREAT HGETDEL HGETEX HINCRBY HINCRBYFLOAT HMSET HPERSIST HPEXPIRE HPEXPIREAT HSET HSETEX HSETNX INCR INCRBY
		INCRBYFLOAT LINSERT LMOVE LPOP LPUSH LPUSHX LREM LSET LTRIM MOVE MSET MSETNX PERSIST PEXPIRE PEXPIREAT PFADD PFMERGE
		PSETEX RENAME RENAMENX RESTORE RPOP RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE
		SINTERSTORE SMOVE SORT SPOP SREM SUNIONSTORE UNLINK XACK XADD XAUTOCLAIM XCLAIM XDEL XSETID XTRIM ZADD ZDIFFSTORE
		ZINCRBY ZINTERSTORE ZPOPMAX ZPOPMIN ZRANGESTORE ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE
		PUBLISH SPUBLISH`},
	group{key: 2, write: true, names: "BITOP XGROUP"},
	group{key: 3, write: true, names: "MIGRATE"},
	group{key: numKeys, write: true, names: "EVAL EVALSHA FCALL"},
	group{write: true, names: "BLMPOP BZMPOP EXEC FLUSHALL FLUSHDB LMPOP MSETEX SWAPDB XREADGROUP ZMPOP"},
	group{key: numKeys, names: "EVAL_RO EVALSHA_RO FCALL_RO"},
	group{key: 2, names: "OBJECT"},
	group{key: 1, names: `BITCOUNT BITFIELD_RO BITPOS DUMP EXISTS EXPIRETIME GEODIST GEOHASH GEOPOS GEORADIUS_RO
		GEORADIUSBYMEMBER_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET HPTTL HRANDFIELD HSCAN
		HSTRLEN HTTL HVALS LCS LINDEX LLEN LPOS LRANGE MGET PEXPIRETIME PFCOUNT PSUBSCRIBE PTTL PUNSUBSCRIBE SCARD SDIFF
		SINTER SISMEMBER SMEMBERS SMISMEMBER SORT_RO SRANDMEMBER SSCAN SSUBSCRIBE STRLEN SUBSCRIBE SUBSTR SUNION
		SUNSUBSCRIBE TOUCH TTL TYPE UNSUBSCRIBE WATCH XLEN XPENDING XRANGE XREVRANGE ZCARD ZCOUNT ZLEXCOUNT ZMSCORE
		ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE`},
	group{names: `ACL ASKING AUTH CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO FAILOVER FUNCTION HELLO INFO KEYS
		LASTSAVE MEMORY MONITOR MULTI PING PSYNC PUBSUB QUIT RANDOMKEY READONLY READWRITE REPLICAOF RESET ROLE SAVE SCAN
		SCRIPT SELECT SHUTDOWN SLOWLOG SYNC TIME UNWATCH WAIT WAITAOF XINFO XREAD`},
)

type group struct {
	names string
	key   int
	write bool
}

func table(groups ...group) map[string]command {
	all := map[string]command{}
	for _, g := range groups {
		for name := range strings.FieldsSeq(g.names) {
			all[name] = command{name, g.key, g.write}
		}
	}
	return all
}

// longestName is the length of the longest name in the table.
const longestName = 24

// lookup finds a command without allocating.
func lookup(name []byte) (command, bool) {
	var upper [longestName]byte
	if len(name) > len(upper) {
		return command{}, false
	}
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	c, ok := commands[string(upper[:len(name)])]
	return c, ok
}

// IsWrite reports whether a command, in upper case, may change the data of a node or wake a client.
func IsWrite(name string) bool { return commands[name].write }

// Name returns the command's name in upper case; "" for a request without arguments. It allocates only for unknown names.
func (r Request) Name() string {
	name := r.Arg(0)
	if c, ok := lookup(name); ok {
		return c.name
	}
	return strings.ToUpper(Text(name, longestName))
}

// IsWrite reports whether the request may change the data of the node or wake a client.
func (r Request) IsWrite() bool {
	c, _ := lookup(r.Arg(0))
	return c.write
}
