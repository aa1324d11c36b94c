package resp

import (
	"strconv"
	"strings"
)

// command describes a command of Redis. Its keys are arguments, by index.
type command struct {
	key      int // the first key; 0: none
	last     int // the last key; 0: key is the only one, -n: the n-th from the end
	step     int // from key to key; 0 means 1
	count    int // the number of the keys that follow it, as in EVAL script numkeys key …; 0: none
	write    bool
	name     string
	words    int  // of a request, the name included; -n means at least n
	waits    bool // a node may keep a request until there is data or replicas have caught up
	noScript bool // scripts may not call it
}

// commands has every command of Redis 7.0, and some newer ones, by name. An entry is the name, the
// number of words, ~ if a node may keep a request, and ! if scripts may not call it. Commands with
// subcommands, such as CLIENT, have an entry for each. Scripts and functions count as writes,
// because their effect is unknown; so do EXEC, which executes the queued commands, and PUBLISH,
// which wakes clients. A channel of PUBLISH or SUBSCRIBE is no key: any node of a cluster accepts
// it.
var commands = table(
	group{command{key: 1, write: true}, `APPEND:3 BITFIELD:-2 DECR:2 DECRBY:3 DELEX:-2 DELIFEQ:3 EXPIRE:-3 EXPIREAT:-3
		GEOADD:-5 GEORADIUS:-6 GEORADIUSBYMEMBER:-5 GETDEL:2 GETEX:-2 GETSET:3 HDEL:-3 HEXPIRE:-6 HEXPIREAT:-6 HGETDEL:-5 HGETEX:-5 HINCRBY:4
		HINCRBYFLOAT:4 HMSET:-4 HPERSIST:-5 HPEXPIRE:-6 HPEXPIREAT:-6 HSET:-4 HSETEX:-6 HSETNX:4 INCR:2 INCRBY:3 INCRBYFLOAT:3 LINSERT:5 LPOP:-2
		LPUSH:-3 LPUSHX:-3 LREM:4 LSET:4 LTRIM:4 MOVE:3 PERSIST:2 PEXPIRE:-3 PEXPIREAT:-3 PFADD:-2 PSETEX:4 RESTORE-ASKING:-4 RESTORE:-4 RPOP:-2
		RPUSH:-3 RPUSHX:-3 SADD:-3 SET:-3 SETBIT:4 SETEX:4 SETNX:3 SETRANGE:4 SORT:-2 SPOP:-2 SPUBLISH:3 SREM:-3 XACK:-4 XADD:-5 XAUTOCLAIM:-6
		XCLAIM:-6 XDEL:-3 XSETID:-3 XTRIM:-4 ZADD:-4 ZINCRBY:4 ZPOPMAX:-2 ZPOPMIN:-2 ZREM:-3 ZREMRANGEBYLEX:4 ZREMRANGEBYRANK:4
		ZREMRANGEBYSCORE:4`},
	group{command{key: 1, last: -2, write: true}, "BLPOP:-3~! BRPOP:-3~! BZPOPMAX:-3~! BZPOPMIN:-3~!"},
	group{command{key: 1, last: -1, write: true}, "DEL:-2 PFMERGE:-2 SDIFFSTORE:-3 SINTERSTORE:-3 SUNIONSTORE:-3 UNLINK:-2"},
	group{command{key: 1, last: -1, step: 2, write: true}, "MSET:-3 MSETNX:-3"},
	group{command{key: 1, last: 2, write: true}, `BLMOVE:6~! BRPOPLPUSH:4~! COPY:-3 GEOSEARCHSTORE:-8 LMOVE:5 RENAME:3
		RENAMENX:3 RPOPLPUSH:3 SMOVE:4 ZRANGESTORE:-5`},
	group{command{key: 2, last: -1, write: true}, "BITOP:-4"},
	group{command{key: 2, write: true}, "PFDEBUG:3 XGROUP:-2"},
	group{command{key: 3, write: true}, "MIGRATE:-6"},
	group{command{write: true}, "EXEC:1! FLUSHALL:-1 FLUSHDB:-1 MSETEX:-4 PUBLISH:3 SWAPDB:3 XREADGROUP:-7~"},
	group{command{count: 1, write: true}, "LMPOP:-4 ZMPOP:-4"},
	group{command{key: 1, count: 2, write: true}, "ZDIFFSTORE:-4 ZINTERSTORE:-4 ZUNIONSTORE:-4"},
	group{command{count: 2, write: true}, "BLMPOP:-5~ BZMPOP:-5~ EVAL:-3! EVALSHA:-3! FCALL:-3!"},
	group{command{key: 1}, `BITCOUNT:-2 BITFIELD_RO:-2 BITPOS:-3 DUMP:2 EXPIRETIME:2 GEODIST:-4 GEOHASH:-2 GEOPOS:-2
		GEORADIUSBYMEMBER_RO:-5 GEORADIUS_RO:-6 GEOSEARCH:-7 GET:2 GETBIT:3 GETRANGE:4 HEXISTS:3 HEXPIRETIME:-5 HGET:3 HGETALL:2 HKEYS:2 HLEN:2
		HMGET:-3 HPEXPIRETIME:-5 HPTTL:-5 HRANDFIELD:-2 HSCAN:-3 HSTRLEN:3 HTTL:-5 HVALS:2 LINDEX:3 LLEN:2 LPOS:-3 LRANGE:4 PEXPIRETIME:2 PTTL:2
		SCARD:2 SISMEMBER:3 SMEMBERS:2 SMISMEMBER:-3 SORT_RO:-2 SRANDMEMBER:-2 SSCAN:-3 STRLEN:2 SUBSTR:4 TTL:2 TYPE:2 XLEN:2 XPENDING:-3
		XRANGE:-4 XREVRANGE:-4 ZCARD:2 ZCOUNT:4 ZLEXCOUNT:4 ZMSCORE:-3 ZRANDMEMBER:-2 ZRANGE:-4 ZRANGEBYLEX:-4 ZRANGEBYSCORE:-4 ZRANK:3
		ZREVRANGE:-4 ZREVRANGEBYLEX:-4 ZREVRANGEBYSCORE:-4 ZREVRANK:3 ZSCAN:-3 ZSCORE:3`},
	group{command{key: 1, last: -1}, `EXISTS:-2 MGET:-2 PFCOUNT:-2 SDIFF:-2 SINTER:-2 SSUBSCRIBE:-2! SUNION:-2
		SUNSUBSCRIBE:-1! TOUCH:-2 WATCH:-2!`},
	group{command{key: 1, last: 2}, "LCS:-3"},
	group{command{key: 2}, "OBJECT:-2"},
	group{command{}, `ACL:-2 ASKING:1 AUTH:-2! BGREWRITEAOF:1! BGSAVE:-1! CLIENT:-2 CLUSTER:-2 COMMAND:-1 CONFIG:-2 DBSIZE:1 DEBUG:-2!
		DISCARD:1! ECHO:2 FAILOVER:-1! FUNCTION:-2 HELLO:-1! INFO:-1 KEYS:2 LASTSAVE:1 LATENCY:-2 LOLWUT:-1 MEMORY:-2 MODULE:-2 MONITOR:1!
		MULTI:1! PFSELFTEST:1 PING:-1 PSUBSCRIBE:-2! PSYNC:-3! PUBSUB:-2 PUNSUBSCRIBE:-1! QUIT:-1! RANDOMKEY:1 READONLY:1 READWRITE:1
		REPLCONF:-1! REPLICAOF:3! RESET:1! ROLE:1! SAVE:1! SCAN:-2 SCRIPT:-2 SELECT:2 SHUTDOWN:-1! SLAVEOF:3! SLOWLOG:-2 SUBSCRIBE:-2! SYNC:1!
		TIME:1 UNSUBSCRIBE:-1! UNWATCH:1! WAIT:3~! WAITAOF:4~ XINFO:-2 XREAD:-4~`},
	group{command{count: 1}, "SINTERCARD:-3 ZDIFF:-3 ZINTER:-3 ZINTERCARD:-3 ZUNION:-3"},
	group{command{count: 2}, "EVALSHA_RO:-3! EVAL_RO:-3! FCALL_RO:-3!"},
	group{command{}, `CLIENT|CACHING:3! CLIENT|GETNAME:2! CLIENT|GETREDIR:2! CLIENT|HELP:2 CLIENT|ID:2! CLIENT|INFO:2! CLIENT|KILL:-3!
		CLIENT|LIST:-2! CLIENT|NO-EVICT:3! CLIENT|PAUSE:-3! CLIENT|REPLY:3! CLIENT|SETNAME:3! CLIENT|TRACKING:-3! CLIENT|TRACKINGINFO:2!
		CLIENT|UNBLOCK:-3! CLIENT|UNPAUSE:2! CLUSTER|ADDSLOTS:-3 CLUSTER|ADDSLOTSRANGE:-4 CLUSTER|BUMPEPOCH:2 CLUSTER|COUNT-FAILURE-REPORTS:3
		CLUSTER|COUNTKEYSINSLOT:3 CLUSTER|DELSLOTS:-3 CLUSTER|DELSLOTSRANGE:-4 CLUSTER|FAILOVER:-2 CLUSTER|FLUSHSLOTS:2 CLUSTER|FORGET:3
		CLUSTER|GETKEYSINSLOT:4 CLUSTER|HELP:2 CLUSTER|INFO:2 CLUSTER|KEYSLOT:3 CLUSTER|LINKS:2 CLUSTER|MEET:-4 CLUSTER|MYID:2 CLUSTER|NODES:2
		CLUSTER|REPLICAS:3 CLUSTER|REPLICATE:3 CLUSTER|RESET:-2! CLUSTER|SAVECONFIG:2 CLUSTER|SET-CONFIG-EPOCH:3 CLUSTER|SETSLOT:-4
		CLUSTER|SHARDS:2 CLUSTER|SLAVES:3 CLUSTER|SLOTS:2 COMMAND|COUNT:2 COMMAND|DOCS:-2 COMMAND|GETKEYS:-4 COMMAND|GETKEYSANDFLAGS:-4
		COMMAND|HELP:2 COMMAND|INFO:-2 COMMAND|LIST:-2 PUBSUB|CHANNELS:-2 PUBSUB|HELP:2 PUBSUB|NUMPAT:2 PUBSUB|NUMSUB:-2 PUBSUB|SHARDCHANNELS:-2
		PUBSUB|SHARDNUMSUB:-2 SCRIPT|DEBUG:3! SCRIPT|EXISTS:-3! SCRIPT|FLUSH:-2! SCRIPT|HELP:2 SCRIPT|KILL:2! SCRIPT|LOAD:3!`},
)

type group struct {
	command
	names string
}

func table(groups ...group) map[string]command {
	all := map[string]command{}
	for _, g := range groups {
		for form := range strings.FieldsSeq(g.names) {
			c := g.command
			c.name, form, _ = strings.Cut(form, ":")
			form, c.noScript = strings.CutSuffix(form, "!")
			form, c.waits = strings.CutSuffix(form, "~")
			c.words, _ = strconv.Atoi(form) // a test checks the constant table
			all[c.name] = c
		}
	}
	return all
}

// longestName bounds the names of one word in the table.
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

// Waits reports whether a node may keep a request for a command, in upper case, until there is data
// or replicas have caught up.
func Waits(name string) bool { return commands[name].waits }

// Words returns the number of words of a command in upper case, its name included; -n: at least n,
// 0: no such command. A subcommand is like CLIENT|ID.
func Words(name string) int { return commands[name].words }

// InScripts reports whether scripts may call a command, named as for [Words].
func InScripts(name string) bool { return !commands[name].noScript }

// Name returns the command's name in upper case; "" for a request without arguments. It allocates
// only for unknown names.
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
