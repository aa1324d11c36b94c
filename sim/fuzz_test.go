package sim

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/servers"
)

// words are the parts of random sequences: every command that a lock sends, directly or in a
// script, and other commands that block or queue. K is a key, F a field or member, N a small
// number, S a score, V a value, T an instant, near or far.
var words = strings.Split(strings.TrimSpace(`
GET K|SET K V|SET K V NX|SET K V XX|SET K V PX 20|SET K V PX 60000|SET K V EX 60 NX|SET K V GET|SETNX K V|GETSET K V|GETDEL K|DEL K|DEL K K|UNLINK K|EXISTS K K
TYPE K|INCR K|INCRBY K N|DECR K|APPEND K V|STRLEN K|MGET K K|MSET K V K V|MSETNX K V K V|GETRANGE K N 3|EXPIRE K 60|PEXPIRE K 20|PEXPIRE K 60000|PEXPIRE K 60000 NX|PEXPIRE K 70000 GT|PEXPIRE K 0|PERSIST K|PTTL K|TTL K|RENAME K K
HSET K F V|HGET K F|HDEL K F|HEXISTS K F|HLEN K|HINCRBY K F N|HGETALL K|HSETNX K F V|HMGET K F F
ZADD K S F|ZADD K NX S F|ZADD K XX CH S F|ZADD K GT S F|ZREM K F|ZSCORE K F|ZCARD K|ZCOUNT K N 3|ZRANGE K 0 N|ZRANGE K 0 -1 WITHSCORES|ZRANGE K -inf N BYSCORE|ZRANGEBYSCORE K N 5 LIMIT 0 1|ZRANK K F
ZREMRANGEBYSCORE K -inf N|ZREMRANGEBYRANK K 0 N|ZINCRBY K S F|ZPOPMIN K|ZPOPMAX K
LPUSH K V V|RPUSH K V|LPOP K|RPOP K|LPOP K N|LLEN K|LRANGE K 0 -1|LINDEX K N|LREM K 1 V|LMOVE K K LEFT RIGHT|RPOPLPUSH K K|LMPOP 2 K K LEFT COUNT 2|LTRIM K 0 N
SADD K F F|SREM K F|SISMEMBER K F|SMEMBERS K|SCARD K|PUBLISH c V
BLPOP K K 0.01|BRPOP K 0.01|BLMOVE K K LEFT LEFT 0.01|BRPOPLPUSH K K 0.01|BZPOPMIN K K 0.01|BZPOPMAX K 0.01|BLMPOP 0.01 1 K RIGHT|BLPOP K -1|BLPOP K x
TIME|PEXPIREAT K T|SET K V NX PX 20|ZRANGE K -1 -1 WITHSCORES|EVAL @lease 1 K 20 F|EVAL @lease 1 K 60000 F|EVAL @ends 1 K T|MULTI|EXEC|EXEC|DISCARD|WATCH K|UNWATCH|SCRIPT EXISTS ffff|SCRIPT LOAD return(1)|GET|NOSUCH K|SCRIPT FLUSH x|SELECT 99|READONLY|PUBSUB CHANNELS a/*|BLMOVE K 0|BLMOVE K K LEFT 0|BRPOPLPUSH K 0|BLMPOP 0 1|BLPOP K 1e300|WAIT x 0|WAIT 0 -1|WAIT 0
SET K V NX XX|SET K V EX 60 KEEPTTL|SET K V PX 9223372036854775807|PEXPIRE K 9223372036854775807|MSET K V K|LPOP K 1 1|EVAL_RO @get 1 K|EVAL_RO @set 1 K V|EVAL @micros 0 N|EVAL @number 1 K N|EVAL @blocks 1 K F|EVAL @asks 0 blmove|EVAL @asks 0 hello|EVAL @asks 0 get|EVAL @asks 0 nosuch|EVAL @reads 0 0x10|EVAL @reads 0 1e3|EVAL @reads 0 010|EVAL @reads 0 9223372036854775808|EVAL @reads 0 -0x1F|EVAL @reads 0 1_0|EVAL @reads 0 x|EVAL @counts 0 010|EVAL @counts 0 0x10|EVAL @counts 0 1e1|EVAL @counts 0 5|EVAL @counts 0 0b1|EVAL @counts 0 x|EVAL @literal 0|EVALSHA ffff 0|EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
EVAL @get 1 K|EVAL @set 1 K V|EVAL @cad 1 K V|EVAL @randoms 0 N|EVAL @zadd 1 K S F|EVAL @fail 1 K|EVAL @types 0|EVAL return(1) x`), "\n")

// scripts replaces the @names of scripts by their sources.
var scripts = strings.NewReplacer(
	"@get", "return redis.call('get', KEYS[1])", "@set", "return redis.call('set', KEYS[1], ARGV[1], 'px', 60000, 'nx')",
	"@cad", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
	"@randoms", "math.randomseed(ARGV[1]) local t = {} for i = 1, 5 do t[i] = math.random(1000) end t[6] = math.random(5, 9) return t",
	"@lease", "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now) "+
		"local new = redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2]) local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES') "+
		"redis.call('PEXPIREAT', KEYS[1], last[2]) return {new, redis.call('ZCARD', KEYS[1]), redis.call('ZRANGE', KEYS[1], 0, -1)}",
	"@ends", "redis.call('SET', KEYS[1], 'x', 'PX', 60000) return redis.call('PEXPIREAT', KEYS[1], ARGV[1])",
	"@zadd", "redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) return redis.call('zscore', KEYS[1], ARGV[2])",
	"@micros", "local us = 1700000000123450 + ARGV[1] return {us .. '', 'until ' .. us / 3, tostring(us), table.concat({us, 0.1}, ','), string.format('%s %d', us, us), us}",
	"@number", "redis.call('set', KEYS[1], 1700000000123450 + ARGV[1] / 10) return redis.call('get', KEYS[1])",
	"@blocks", "return redis.call('blmpop', 0, 1, KEYS[1], 'LEFT')", "@reads", "return tostring(tonumber(ARGV[1]))",
	"@counts", "local a, t, n = ARGV[1], {}, 0 for i = a, a + 2 do n = n + i end for _, f in ipairs({function() return a + 1 end, function() return 2 * a - a / 3 end, "+
		"function() return -a end, function() return a % 7 end, function() return 2 ^ a end, function() return math.floor(a) + math.max(a, '3') end, "+
		"function() return string.rep('x', a) .. string.sub('abcdefghijklmnop', a) end, function() return string.format('%d', a) end, function() return table.concat({1, 2, 3}, ',', '02') end, "+
		"function() return select('02', a, a) end, function() return string.char('65', '066') end}) do local ok, v = pcall(f) t[#t+1] = ok and tostring(v) or 'fails' end t[#t+1] = n return t",
	"@literal", "return {010, 0x10, 1e2, tostring(010 + 08 * 1), 08}", "@asks", "local r = redis.pcall(ARGV[1]) return r.err",
	"@fail", "redis.call('incr', KEYS[1]) return redis.call('hget', KEYS[1], 'f')", "@types", "return {1, 2.9, 'x', true, false, {ok = 'fine'}}")

// drawCommand draws a command of a random sequence.
func drawCommand(r *rand.Rand) []string {
	all := strings.Split(strings.Join(words, "|"), "|")
	args := strings.Fields(all[r.IntN(len(all))])
	for i, a := range args {
		switch a {
		case "K":
			args[i] = "k" + strconv.Itoa(r.IntN(3))
		case "F":
			args[i] = "f" + strconv.Itoa(r.IntN(3))
		case "N":
			args[i] = strconv.Itoa(r.IntN(5))
		case "S":
			args[i] = strconv.FormatFloat(float64(r.IntN(8))/2, 'g', -1, 64)
		case "T":
			args[i] = strconv.FormatInt(time.Now().UnixMilli()+[]int64{20, 60000}[r.IntN(2)], 10)
		case "V":
			args[i] = strconv.Itoa(r.IntN(3))
		default:
			args[i] = scripts.Replace(a)
		}
	}
	return args
}

// answers runs a sequence: the simulated server, or redis-server.
type answers func(args []string) string

// both returns the two.
func both(t *testing.T) (simulated, real answers, one *fakeredis.Server) {
	t.Helper()
	d := deployed(t, servers.Spec{})
	conn, err := d.Dial(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	nodes := &realNodes{t: t, conns: []net.Conn{conn}, addrs: strings.NewReplacer()}
	if one, err = fakeredis.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.Close)
	return func(args []string) string { // Redis' clock counts whole milliseconds
			return comparable(args, wireText(one.Do(time.Now().Truncate(time.Millisecond), args)))
		},
		func(args []string) string { return comparable(args, nodes.ask(0, args)) }, one
}

// comparable returns a reply without what may differ: the order of sets, and the rest of a long
// time.
func comparable(args []string, reply string) string {
	reply = instants.ReplaceAllString(reply, "instant")
	switch name := strings.ToUpper(args[0]); name {
	case "SMEMBERS", "HGETALL", "KEYS":
		parts := strings.Fields(reply)
		slices.Sort(parts)
		return strings.Join(parts, " ")
	case "PTTL", "TTL":
		if reply[:2] != ":-" {
			return ":some"
		}
	case "EXEC":
		parts := strings.Fields(timeLeft.ReplaceAllString(reply, ":some"))
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	return reply
}

// instants matches milliseconds since 1970, of this time, and the reply to TIME.
var instants = regexp.MustCompile(`\b1[789]\d{11}\b|\*2 \$10 1[789]\d{8} \$\d \d{1,6}\b`)

// timeLeft matches a number that may be the rest of a minute.
var timeLeft = regexp.MustCompile(`:(59|60|70|[567]\d{4})\b`)

// TestRandomSequencesAnswerAsRedisDoes sends random sequences to a simulated server and to
// redis-server, including short leases that expire meanwhile, and compares every reply.
// LOCKBENCH_SOAK sets their number, LOCKBENCH_SOAK_FROM the first seed.
func TestRandomSequencesAnswerAsRedisDoes(t *testing.T) {
	n := soak(300)
	from, _ := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK_FROM"))
	var group sync.WaitGroup
	for lane := range sequencesAtOnce {
		simulated, real, _ := both(t)
		group.Go(func() {
			for seed := from + lane; seed < from+n; seed += sequencesAtOnce {
				if story, differs := compared(seed, simulated, real); differs {
					t.Errorf("seed %d:\n%s", seed, story)
				}
			}
		})
	}
	group.Wait()
}

// sequencesAtOnce is how many sequences run concurrently, each on its own two servers: a sequence
// waits for leases most of the time.
const sequencesAtOnce = 16

// compared sends a sequence until the replies agree, or have differed so often that it is not a
// matter of timing.
func compared(seed int, simulated, real answers) (story string, differs bool) {
	for tries, all := 0, 0; tries < 3 && all < 50; all++ {
		var stalled bool
		if story, differs, stalled = sequence(seed, simulated, real); !differs {
			return "", false
		}
		if !stalled { // and a short lease does not expire between the two replies three times
			tries++
		}
	}
	return story, true
}

// A lease that is set again within the same millisecond is not longer, on either server.
func TestALeaseSetAgainWithinAMillisecond(t *testing.T) {
	simulated, real, _ := both(t)
	for range 100 {
		var want, got []string
		begun := time.Now()
		for _, words := range []string{"DEL k", "SET k v PX 70000", "PEXPIRE k 70000 GT", "PEXPIRE k 70001 GT"} {
			want, got = append(want, real(strings.Fields(words))), append(got, simulated(strings.Fields(words)))
		}
		if time.Now().UnixMilli() != begun.UnixMilli() {
			continue // for one of them a millisecond may have passed
		}
		if !slices.Equal(want, got) || !slices.Equal(want[2:], []string{":0", ":1"}) {
			t.Errorf("redis-server answers %q, the simulated server %q", want, got)
		}
		return
	}
	t.Skip("four commands take longer than a millisecond on this machine")
}

// sequence sends one random sequence to both, and logs it up to where the replies differ; stalled:
// the two did not execute every command within the same millisecond, so that a lease may have begun
// or ended earlier for one of them.
func sequence(seed int, simulated, real answers) (story string, differs, stalled bool) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	for _, args := range [][]string{{"DISCARD"}, {"UNWATCH"}, {"FLUSHALL"}, {"SCRIPT", "FLUSH"}} {
		simulated(args)
		real(args)
	}
	var told []string
	for range 5 + r.IntN(25) {
		if r.IntN(12) == 0 {
			time.Sleep(40 * time.Millisecond) // longer than the short leases
		}
		args := drawCommand(r)
		asked := time.Now()
		want, got := real(args), simulated(args)
		if !fakeredis.Blocks(args[0]) && args[0] != "EXEC" {
			stalled = stalled || time.Now().UnixMilli() != asked.UnixMilli()
		}
		told = append(told, fmt.Sprintf("%q: %s", args, want))
		if want != got {
			return strings.Join(append(told, "the simulator answers "+got), "\n"), true, stalled
		}
	}
	return "", false, stalled
}

// notDrawn lists commands of locks that are not in random sequences, and why.
var notDrawn = map[string]string{
	"DELEX":     "redis-server 7.0 has none",
	"SUBSCRIBE": "it takes the connection: TestNodePubSub",
}

// called returns the commands that a script calls.
var called = regexp.MustCompile(`redis\.p?call\(\s*["'](\w+)["']`)

// TestSequencesHaveEveryCommandOfLocks: every command that a lock sends, or one of its scripts
// calls, is in the random sequences.
func TestSequencesHaveEveryCommandOfLocks(t *testing.T) {
	inSequences := map[string]bool{}
	for _, form := range strings.Split(strings.Join(words, "|"), "|") {
		name, rest, _ := strings.Cut(form, " ")
		inSequences[name] = true
		for _, script := range called.FindAllStringSubmatch(scripts.Replace(rest), -1) {
			inSequences[strings.ToUpper(script[1])] = true
		}
	}
	h, used := newSimulator(t), map[string]string{} // by command, a lock
	for _, v := range append(catalogue.Locks(), catalogue.Planted()...) {
		for seed := range 2 {
			out := seeded(t, h, v, seed)
			for _, c := range out.Commands {
				used[c.Name] = v.Name
			}
			for _, source := range out.Scripts {
				for _, call := range called.FindAllStringSubmatch(source, -1) {
					used[strings.ToUpper(call[1])] = v.Name
				}
			}
		}
	}
	for name, lock := range used {
		if notDrawn[name] == "" && !inSequences[name] {
			t.Errorf("%s uses %s, which no random sequence has", lock, name)
		}
	}
	for name := range notDrawn {
		if used[name] == "" || inSequences[name] {
			t.Errorf("%s is excepted and need not be", name)
		}
	}
}

// forms are valid requests of commands that random sequences (words) do not have.
var forms = strings.Split(strings.ReplaceAll(strings.TrimSpace(`
ECHO V|KEYS *|EXPIRETIME K|PEXPIRETIME K|HKEYS K|HVALS K|GETEX K|GETEX K EX 60|GETEX K PERSIST|TOUCH K K|DBSIZE|SETRANGE K 1 V|RENAMENX K K|HSTRLEN K F|ZREVRANK K F
EXPIREAT K 1|PEXPIREAT K 1 LT|LPUSHX K V|RPUSHX K V|LPOS K V|LPOS K V RANK -1 COUNT 2 MAXLEN 3|SMISMEMBER K F F|ZMSCORE K F F|SETEX K 60 V|PSETEX K 60000 V|LSET K 0 V|SMOVE K K F
ZREVRANGE K 0 -1 WITHSCORES|ZREVRANGEBYSCORE K 5 (1 LIMIT 0 1|LINSERT K BEFORE V V|HMSET K F V|DECRBY K N|ZRANGE K 0 -1 REV|ZRANGE K 5 (1 BYSCORE REV LIMIT 0 2|ZADD K INCR S F|ZADD K LT CH S F
HINCRBY K F N|INCRBY K N|BLMPOP 0.01 2 K K LEFT COUNT 2|PUBSUB NUMSUB c|PUBSUB CHANNELS|PING|PING V|CLUSTER SLOTS|CLUSTER KEYSLOT K|CLIENT SETNAME V|CLIENT GETNAME|COMMAND|FLUSHALL|FLUSHDB|SELECT 0|SETRANGE K 0 V
`), "\n", "|"), "|")

// odd are words that take the place of others.
var odd = strings.Split("s l h z e m n f0 0 1 2 3 -1 -2 01 +1 1.5 -0 x  1e3 0x10 inf -inf +inf nan (1 (x 9223372036854775807 9223372036854775808 -9223372036854775808 "+
	"9223372036854775806 9223372036854775807 -0 100000000000000000 123456789012345678 1e17 0.1 3.0 1e-7 1e300 17179869184 NX XX GT LT CH INCR EX PX EXAT PXAT KEEPTTL PERSIST GET WITHSCORES LIMIT BYSCORE BYLEX REV "+
	"LEFT RIGHT BEFORE AFTER COUNT RANK MAXLEN SYNC ASYNC nx withscores left", " ")

// dataOf has a key of each type: s text, n a number, o one that is none, l a list, h a hash, z a
// sorted set, e a set; m is missing.
var dataOf = []string{"FLUSHALL", "SET s text PX 600000", "SET n 5", "RPUSH l 1 2 1", "HSET h f0 1 f1 x", "ZADD z 1 f0 2.5 f1 3 f2", "SADD e f0 f1", "HSET h f2 010", "SET o 010"}

// drawForm draws a valid request and changes up to two of its words.
func drawForm(r *rand.Rand, all []string) []string {
	args := strings.Fields(all[r.IntN(len(all))])
	for i, a := range args {
		switch a {
		case "K":
			args[i] = []string{"s", "l", "h", "z", "e", "m", "n", "o"}[r.IntN(8)]
		case "F":
			args[i] = "f" + strconv.Itoa(r.IntN(3))
		case "N", "S", "V":
			args[i] = strconv.Itoa(r.IntN(4))
		}
	}
	for range r.IntN(3) {
		word, at := odd[r.IntN(len(odd))], 1+r.IntN(len(args))
		switch r.IntN(4) {
		case 0:
			args = slices.Insert(args, at, word)
		case 1:
			if at < len(args) {
				args = slices.Delete(args, at, at+1)
			}
		default:
			if at < len(args) {
				args[at] = word
			}
		}
	}
	return args
}

// inPlace asks for a form as it is, in a transaction, or from a script.
func inPlace(r *rand.Rand, args []string) [][]string {
	switch r.IntN(4) {
	case 0:
		return [][]string{{"MULTI"}, args, {"EXEC"}, {"DISCARD"}}
	case 1:
		return [][]string{append([]string{"EVAL", "local r = redis.pcall(unpack(ARGV)) if type(r) == 'table' and r.err then return {'error', string.match(r.err, '^%S+')} end return r", "0"}, args...)}
	}
	if waits(args) {
		return nil
	}
	return [][]string{args}
}

// waits reports whether redis-server would wait long for data.
func waits(args []string) bool {
	name := strings.ToUpper(args[0])
	if name == "WAIT" {
		return true
	}
	if !fakeredis.Blocks(name) || len(args) < 2 {
		return false
	}
	d, text := fakeredis.Timeout(append([]string{name}, args[1:]...))
	return text == "" && (d == 0 || d > 20*time.Millisecond)
}

// notCompared lists forms whose replies are not compared, and why.
var notCompared = map[string]string{
	"COMMAND": "it lists what the server has",
	"EVAL":    "drawn by inPlace", "EVALSHA": "", "EVAL_RO": "", "SCRIPT": "", "TIME": "", "MULTI": "", "EXEC": "", "DISCARD": "", "NOSUCH": "",
}

// TestFormsAnswerAsRedisDoes sends valid requests, with up to two words changed, to a simulated
// server and to redis-server: as they are, in a transaction and from a script. The replies are the
// same, or the server refuses the request by name. LOCKBENCH_SOAK sets the number of sequences,
// LOCKBENCH_SOAK_FROM the first seed.
func TestFormsAnswerAsRedisDoes(t *testing.T) {
	n := soak(300)
	simulated, real, one := both(t)
	var all []string
	for _, f := range slices.Concat(strings.Split(strings.Join(words, "|"), "|"), forms) {
		name, _, _ := strings.Cut(f, " ")
		if _, skip := notCompared[name]; !skip && !strings.Contains(f, " T") {
			all = append(all, f)
		}
	}
	from, _ := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK_FROM"))
	different, refusals := map[string]int{}, map[string]int{}
	for seed := from; seed < from+n; seed++ {
		var story, name string
		for range 10 { // a lease of a millisecond does not end between the two replies ten times
			if story, name = formsDiffer(seed, all, simulated, real, one, refusals); story == "" {
				break
			}
		}
		if story == "" {
			continue
		}
		if different[name]++; different[name] < 6 {
			t.Errorf("seed %d:\n%s", seed, story)
		}
	}
	t.Logf("%d sequences, different %v, refused %v", n, different, refusals)
}

// formsDiffer sends a sequence of requests, and returns the story up to the first reply that
// differs, and that request's name. It ends at a request that the simulator refuses.
func formsDiffer(seed int, all []string, simulated, real answers, one *fakeredis.Server, refusals map[string]int) (story, name string) {
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	for _, line := range append([]string{"DISCARD", "UNWATCH", "SELECT 0"}, dataOf...) {
		simulated(strings.Fields(line))
		real(strings.Fields(line))
	}
	var told []string
	for range 6 {
		args := drawForm(r, all)
		name := strings.ToUpper(args[0])
		for _, words := range inPlace(r, args) {
			want, got := real(words), simulated(words)
			if strings.HasSuffix(name, "TTL") {
				want, got = leaseLeft.ReplaceAllString(want, ":some"), leaseLeft.ReplaceAllString(got, ":some")
			}
			told = append(told, fmt.Sprintf("%q: %s", words, want))
			if one.Pardon() != "" {
				refusals[name]++
				return "", ""
			}
			if want != got && (!listed(args) || sorted(want) != sorted(got)) {
				return strings.Join(told, "\n") + "\nthe simulator answers " + got, name
			}
		}
	}
	return "", ""
}

// leaseLeft matches the rest of a lease, of which a millisecond may have passed between two
// replies.
var leaseLeft = regexp.MustCompile(`:\d+`)

// listed reports whether a reply has no order.
func listed(args []string) bool {
	return slices.Contains([]string{"KEYS", "HGETALL", "SMEMBERS", "HKEYS", "HVALS"}, strings.ToUpper(args[0]))
}

func sorted(reply string) string {
	parts := strings.Fields(reply)
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
