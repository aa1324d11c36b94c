package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// forms are valid requests of commands that random sequences (words) do not have.
var forms = strings.Split(strings.ReplaceAll(strings.TrimSpace(`
ECHO V|KEYS *|EXPIRETIME K|PEXPIRETIME K|HKEYS K|HVALS K|GETEX K|GETEX K EX 60|GETEX K PERSIST|TOUCH K K|DBSIZE|SETRANGE K 1 V|RENAMENX K K|HSTRLEN K F|ZREVRANK K F
EXPIREAT K 1|PEXPIREAT K 1 LT|LPUSHX K V|RPUSHX K V|LPOS K V|LPOS K V RANK -1 COUNT 2 MAXLEN 3|SMISMEMBER K F F|ZMSCORE K F F|SETEX K 60 V|PSETEX K 60000 V|LSET K 0 V|SMOVE K K F
ZREVRANGE K 0 -1 WITHSCORES|ZREVRANGEBYSCORE K 5 (1 LIMIT 0 1|LINSERT K BEFORE V V|HMSET K F V|DECRBY K N|ZRANGE K 0 -1 REV|ZRANGE K 5 (1 BYSCORE REV LIMIT 0 2|ZADD K INCR S F|ZADD K LT CH S F
HINCRBY K F N|INCRBY K N|BLMPOP 0.01 2 K K LEFT COUNT 2|PUBSUB NUMSUB c|PUBSUB CHANNELS|PING|PING V|CLUSTER SLOTS|CLUSTER KEYSLOT K|CLIENT SETNAME V|CLIENT GETNAME|COMMAND|FLUSHALL|FLUSHDB|SELECT 0|SETRANGE K 0 V
`), "\n", "|"), "|")

// odd are words that take the place of others.
var odd = strings.Split("s l h z e m n f0 0 1 2 3 -1 -2 01 +1 1.5 -0 x  1e3 0x10 inf -inf +inf nan (1 (x 9223372036854775807 9223372036854775808 -9223372036854775808 "+
	"9223372036854775806 100000000000000000 123456789012345678 1e17 0.1 3.0 1e-7 1e300 17179869184 NX XX GT LT CH INCR EX PX EXAT PXAT KEEPTTL PERSIST GET WITHSCORES LIMIT BYSCORE BYLEX REV "+
	"LEFT RIGHT BEFORE AFTER COUNT RANK MAXLEN SYNC ASYNC nx withscores left", " ")

// dataOf has a key of each type: s text, n a number, o one that is none, l a list, h a hash, z a sorted set, e a set; m is missing.
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
	if _, blocks := blocking[name]; !blocks || len(args) < 2 {
		return false
	}
	d, text := timeout(upper(name, args))
	return text == "" && (d == 0 || d > 20*time.Millisecond)
}

// notCompared lists forms whose replies are not compared, and why.
var notCompared = map[string]string{
	"COMMAND": "it lists what the server has",
	"EVAL":    "drawn by inPlace", "EVALSHA": "", "EVAL_RO": "", "SCRIPT": "", "TIME": "", "MULTI": "", "EXEC": "", "DISCARD": "", "NOSUCH": "",
}

// TestFormsAnswerAsRedisDoes sends valid requests, with up to two words changed, to a simulated server and to redis-server: as they
// are, in a transaction and from a script. The replies are the same, or the server refuses the request by name. LOCKBENCH_SOAK sets the number of
// sequences.
func TestFormsAnswerAsRedisDoes(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK"))
	if err != nil {
		n = 300
	}
	simulated, real, one := both(t)
	var all []string
	for _, f := range slices.Concat(strings.Split(strings.Join(words, "|"), "|"), forms) {
		name, _, _ := strings.Cut(f, " ")
		if _, skip := notCompared[name]; !skip && !strings.Contains(f, " T") {
			all = append(all, f)
		}
	}
	different, refusals := map[string]int{}, map[string]int{}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		for _, line := range append([]string{"DISCARD", "UNWATCH", "SELECT 0"}, dataOf...) {
			simulated(strings.Fields(line))
			real(strings.Fields(line))
		}
		var told []string
		for range 6 {
			args := drawForm(r, all)
			same := true
			for _, words := range inPlace(r, args) {
				want, got := real(words), simulated(words)
				if strings.HasSuffix(strings.ToUpper(args[0]), "TTL") {
					want, got = leaseLeft.ReplaceAllString(want, ":some"), leaseLeft.ReplaceAllString(got, ":some")
				}
				told = append(told, fmt.Sprintf("%q: %s", words, want))
				if one.node.refused != "" {
					refusals[strings.ToUpper(args[0])]++
					one.node.refused, same = "", false
					break
				}
				if same = want == got || listed(args) && sorted(want) == sorted(got); !same {
					if different[strings.ToUpper(args[0])]++; different[strings.ToUpper(args[0])] < 6 {
						t.Errorf("seed %d:\n%s\nthe simulator answers %s", seed, strings.Join(told, "\n"), got)
					}
					break
				}
			}
			if !same {
				break // their data may differ from here
			}
		}
	}
	t.Logf("%d sequences, different %v, refused %v", n, different, refusals)
}

// leaseLeft matches the rest of a lease, of which a millisecond may have passed between two replies.
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
