package effects_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
)

const (
	ms    = int64(1e6)
	epoch = int64(1_700_000_000_000) // milliseconds
)

const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

// word replaces @N by the absolute time of N milliseconds.
func words(text string) (out []string) {
	for _, w := range strings.Fields(text) {
		var at int64
		if n, _ := fmt.Sscanf(w, "@%d", &at); n == 1 {
			w = fmt.Sprint(epoch + at)
		}
		out = append(out, w)
	}
	return out
}

// sent makes a command of a client from its times in milliseconds and its words.
func sent(client string, op uint64, from, to int64, reply, text string) history.Command {
	w := words(text)
	c := history.Command{Client: client, Conn: uint64(client[1]), Op: op, Sent: from * ms, Replied: to * ms, Name: w[0], Args: w[1:], Reply: reply}
	if c.IsScript() {
		c.Script = w[1]
	}
	return c
}

// logged makes a step of a log.
func logged(at int64, commands ...string) history.Logged {
	l := history.Logged{At: at * ms}
	for _, text := range commands {
		l.Log = append(l.Log, words(text))
	}
	return l
}

// refused makes tries of a client that were refused, one every 4 ms.
func refused(n int64) (all []history.Command) {
	for i := range n {
		all = append(all, sent("c2", 2, 3+4*i, 4+4*i, "(nil)", "SET k t2 PX 1000 NX"))
	}
	return all
}

// line says what an event was.
func line(e history.Executed) string {
	out := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Client, e.Effect, strings.Join(append([]string{e.Name}, e.Args...), " ")))
	if e.Op != 0 {
		out += fmt.Sprintf(" op=%d", e.Op)
	}
	for _, c := range e.Changes {
		out += fmt.Sprintf(" | %s: %s -> %s", c.Key, datum(c.Before), datum(c.After))
	}
	return strings.Join(strings.Fields(out), " ")
}

func datum(d *history.Datum) string {
	switch {
	case d == nil:
		return "none"
	case d.Until == 0:
		return fmt.Sprint(d.Value)
	}
	return fmt.Sprintf("%v until %d", d.Value, d.Until/ms)
}

func TestJoin(t *testing.T) {
	scripts := map[string]string{"release": release, "blind": `return redis.call('del', KEYS[1])`,
		"take": `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) end return 0`,
		"hand": `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) redis.call('set', KEYS[1], ARGV[2]) return 1`,
		"pass": `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end local next = redis.call('get', KEYS[2])
			if next == ARGV[1] then redis.call('del', KEYS[2]) else redis.call('set', KEYS[1], next) end return 1`,
		"score": `local now = redis.call('time') if redis.call('zcard', KEYS[1]) > 0 then return 0 end
			redis.call('zadd', KEYS[1], now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[2], ARGV[1]) return 1`,
		"left":  `if redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return redis.call('pttl', KEYS[1])`,
		"leave": `redis.call('zrem', KEYS[2], ARGV[1]) if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return 1`,
		"try":   `if redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`}
	for _, row := range []struct {
		name     string
		commands []history.Command
		faults   []history.Window
		log      []history.Logged
		want     []string
	}{
		{"a grant and its release by a script", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 1, 3, "(nil)", "SET k t2 PX 1000 NX"),
			sent("c1", 3, 4, 5, "1", "EVALSHA release 1 k t1"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c1 EVALSHA release 1 k t1 op=3 | k: t1 until 1001 -> none"}},
		{"two releases at once: the one that replied 1 is another's", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 3, 6, "1", "EVALSHA blind 1 k t2"),
			sent("c1", 3, 3, 5, "0", "EVALSHA release 1 k t1"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c2 EVALSHA blind 1 k t2 op=2 | k: t1 until 1001 -> none"}},
		{"a release whose reply comes late is before a grant that came sooner, and that grant's own release", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k v PX 1000 NX"),
			sent("c1", 2, 3, 20, "1", "DEL k"),
			sent("c3", 3, 4, 5, "OK", "SET k v PX 1000 NX"),
			sent("c3", 4, 6, 7, "1", "DEL k"),
		}, nil, []history.Logged{logged(10, "SET k v PXAT @1001"), logged(10, "DEL k"), logged(10, "SET k v PXAT @1005"), logged(10, "DEL k")},
			[]string{"c1 SET k v PX 1000 NX op=1 | k: none -> v until 1001", "c1 DEL k op=2 | k: v until 1001 -> none",
				"c3 SET k v PX 1000 NX op=3 | k: none -> v until 1005", "c3 DEL k op=4 | k: v until 1005 -> none"}},
		{"the same, of grants by a script", []history.Command{
			sent("c1", 1, 1, 2, "1", "EVALSHA try 1 k v 1000"),
			sent("c1", 2, 3, 20, "1", "DEL k"),
			sent("c3", 3, 4, 5, "1", "EVALSHA try 1 k v 1000"),
			sent("c3", 4, 6, 7, "1", "DEL k"),
		}, nil, []history.Logged{logged(10, "SET k v PXAT @1001"), logged(10, "DEL k"), logged(10, "SET k v PXAT @1005"), logged(10, "DEL k")},
			[]string{"c1 EVALSHA try 1 k v 1000 op=1 | k: none -> v until 1001", "c1 DEL k op=2 | k: v until 1001 -> none",
				"c3 EVALSHA try 1 k v 1000 op=3 | k: none -> v until 1005", "c3 DEL k op=4 | k: v until 1005 -> none"}},
		{"a watchdog's command has a client and no operation", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 0, 500, 501, "1", "PEXPIRE k 1000"),
		}, nil, []history.Logged{logged(600, "SET k t1 PXAT @1001"), logged(600, "PEXPIREAT k @1500")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c2 PEXPIRE k 1000 | k: t1 until 1001 -> t1 until 1500"}},
		{"the end of a lease, found by the next grant", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 1100, 1101, "OK", "SET k t2 PX 1000 NX"),
		}, nil, []history.Logged{logged(2000, "SET k t1 PXAT @1001"), logged(2000, "DEL k", "SET k t2 PXAT @2100")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none",
				"c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 2100"}},
		{"a clock that runs twice as fast from before the first step, which nobody sent", []history.Command{
			sent("c1", 1, 5, 6, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 7, 8, "(nil)", "SET k t2 PX 1000 NX"),
			sent("c2", 2, 600, 601, "OK", "SET k t2 PX 1000 NX"),
		}, []history.Window{{Fault: "drift-clock", Effects: []history.Effect{{What: history.ClockRate, PPM: 1_000_000}}}},
			[]history.Logged{logged(10, "SET z t9"), logged(10, "SET k t1 PXAT @1010"), logged(700, "DEL k", "SET k t2 PXAT @2200")},
			[]string{"SET z t9 | z: none -> t9", "clock-rate", "c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 505", "expired | k: t1 until 505 -> none",
				"c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 1100"}},
		{"a grant whose reply came after hundreds of refusals", append([]history.Command{
			sent("c1", 1, 1, 3000, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 3, 2990, 2991, "OK", "SET k t2 PX 1000 NX"),
		}, refused(200)...), nil, []history.Logged{logged(3001, "SET k t1 PXAT @1002"), logged(3001, "DEL k", "SET k t2 PXAT @3990")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1002", "expired | k: t1 until 1002 -> none",
				"c2 SET k t2 PX 1000 NX op=3 | k: none -> t2 until 3990"}},
		{"a refusal in the last instant of a lease, which says that nothing is left", []history.Command{
			sent("c1", 1, 1, 2, "1", "EVALSHA left 1 k v 1000"),
			sent("c2", 2, 1003, 1004, "0", "EVALSHA left 1 k token-of-c2 1000"),
			sent("c2", 3, 1005, 1006, "1", "EVALSHA left 1 k token-of-c2 1000"),
			sent("c2", 4, 1007, 1008, "1", "DEL k"),
			sent("c3", 5, 1010, 1011, "1", "EVALSHA left 1 k v 1000"),
		}, nil, []history.Logged{logged(2000, "SET k v PXAT @1001"), logged(2000, "DEL k", "SET k token-of-c2 PXAT @2005"), logged(2000, "DEL k"), logged(2000, "SET k v PXAT @2010")},
			[]string{"c1 EVALSHA left 1 k v 1000 op=1 | k: none -> v until 1001", "expired | k: v until 1001 -> none",
				"c2 EVALSHA left 1 k token-of-c2 1000 op=3 | k: none -> token-of-c2 until 2005", "c2 DEL k op=4 | k: token-of-c2 until 2005 -> none",
				"c3 EVALSHA left 1 k v 1000 op=5 | k: none -> v until 2010"}},
		{"a grant in the last instant of a lease, whose reply 1 is no refusal with 0 ms left", []history.Command{
			sent("c1", 1, 1, 2, "1", "EVALSHA try 1 k v 1000"),
			sent("c2", 2, 1003, 1034, "1", "EVALSHA try 1 k w 1000"),
			sent("c2", 3, 1200, 1201, "1", "PEXPIRE k 1000"),
		}, nil, []history.Logged{logged(1100, "SET k v PXAT @1001"), logged(1100, "DEL k", "SET k w PXAT @2006"), logged(1300, "PEXPIREAT k @2200")},
			[]string{"c1 EVALSHA try 1 k v 1000 op=1 | k: none -> v until 1001", "expired | k: v until 1001 -> none",
				"c2 EVALSHA try 1 k w 1000 op=2 | k: none -> w until 2006", "c2 PEXPIRE k 1000 op=3 | k: w until 2006 -> w until 2200"}},
		{"the end of a lease, found by a script that had changed another key", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 3, 4, "1", "ZADD q 5 t2"),
			sent("c2", 3, 1100, 1101, "1", "EVALSHA leave 2 k q t2"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "ZADD q 5 t2"), logged(1110, "ZREM q t2", "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c2 ZADD q 5 t2 op=2 | q: none -> map[t2:5]",
				"expired | k: t1 until 1001 -> none", "c2 EVALSHA leave 2 k q t2 op=3 | q: map[t2:5] -> none"}},
		{"copies of a primary, however many, come before the first command of a node that took over", []history.Command{
			sent("c1", 1, 500, 501, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 510, 511, "1", "EVALSHA release 1 k t1"),
		}, nil, append(slices.Repeat([]history.Logged{logged(200, "SET k t0 PXAT @1001"), logged(200, "DEL k")}, 10),
			logged(600, "SET k t1 PXAT @1500"), logged(600, "DEL k")),
			append(slices.Repeat([]string{"SET k t0 PXAT 1700000001001 | k: none -> t0 until 1001", "DEL k | k: t0 until 1001 -> none"}, 10),
				"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1500", "c1 EVALSHA release 1 k t1 op=2 | k: t1 until 1500 -> none")},
		{"the end of a lease while a release comes too late", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 1100, 1101, "0", "EVALSHA release 1 k t1"),
		}, nil, []history.Logged{logged(2000, "SET k t1 PXAT @1001"), logged(2000, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none"}},
		{"the end of a lease while a plain DEL comes too late, which removed nothing", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 1100, 1101, "0", "DEL k"),
		}, nil, []history.Logged{logged(2000, "SET k t1 PXAT @1001"), logged(2000, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none"}},
		{"the end of a lease in the words of a release that came later, read after both", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 1100, 1101, "0", "DEL k"),
			sent("c2", 3, 1200, 1201, "OK", "SET k t2 PX 1000 NX"),
			sent("c2", 4, 1300, 1301, "1", "DEL k"),
		}, nil, []history.Logged{logged(2000, "SET k t1 PXAT @1001"), logged(2000, "DEL k"), logged(2000, "SET k t2 PXAT @2200"), logged(2000, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none",
				"c2 SET k t2 PX 1000 NX op=3 | k: none -> t2 until 2200", "c2 DEL k op=4 | k: t2 until 2200 -> none"}},
		{"a release just before the end of the lease", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 999, 1003, "1", "EVALSHA release 1 k t1"),
		}, nil, []history.Logged{logged(2000, "SET k t1 PXAT @1001"), logged(2000, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c1 EVALSHA release 1 k t1 op=2 | k: t1 until 1001 -> none"}},
		{"a script that writes two keys, while others are refused", []history.Command{
			sent("c1", 1, 1, 4, "1", "EVALSHA take 2 k f t1 1000"),
			sent("c2", 2, 1, 3, "0", "EVALSHA take 2 k f t2 1000"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1002", "INCR f")},
			[]string{"c1 EVALSHA take 2 k f t1 1000 op=1 | k: none -> t1 until 1002 | f: none -> 1"}},
		{"tokens that say nothing: the reply does", []history.Command{
			sent("c1", 1, 1, 4, "0", "EVALSHA try 1 k x 1000"),
			sent("c2", 2, 1, 5, "1", "EVALSHA try 1 k x 1000"),
		}, nil, []history.Logged{logged(10, "SET k x PXAT @1002")},
			[]string{"c2 EVALSHA try 1 k x 1000 op=2 | k: none -> x until 1002"}},
		{"a transaction", []history.Command{
			sent("c1", 1, 1, 2, "OK", "MULTI"), sent("c1", 1, 1, 2, "QUEUED", "SET k t1 PX 1000"), sent("c1", 1, 1, 2, "QUEUED", "SADD s t1"),
			sent("c1", 1, 1, 2, `["OK", 1]`, "EXEC"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001", "SADD s t1")},
			[]string{"c1 EXEC op=1 | k: none -> t1 until 1001 | s: none -> map[t1:true]"}},
		{"an operator's deletion", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 4, 6, "(nil)", "SET k t2 PX 1000 NX"),
		}, []history.Window{{Fault: "delete-key", Effects: []history.Effect{{At: 5 * ms, What: history.Deleted, Lost: []string{"k"}}}}},
			[]history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "deleted | k: t1 until 1001 -> none"}},
		{"an eviction just after another lease of the same key had ended", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 1008, 1009, "OK", "SET k t2 PX 1000 NX"),
		}, []history.Window{{Fault: "evict-keys", Effects: []history.Effect{{At: 1050 * ms, What: history.Evicted, Lost: []string{"k"}}}}},
			[]history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(1005, "DEL k"), logged(1010, "SET k t2 PXAT @2008"), logged(1030, "DEL k")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none",
				"c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 2008", "evicted | k: t2 until 2008 -> none"}},
		{"somebody who was not recorded", nil, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "DEL k")},
			[]string{"SET k t1 PXAT 1700000001001 | k: none -> t1 until 1001", "DEL k | k: t1 until 1001 -> none"}},
		{"a restart that loses the data", []history.Command{sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"), sent("c2", 2, 20, 21, "OK", "SET k t2 PX 1000 NX")},
			[]history.Window{{Fault: "kill-server", Effects: []history.Effect{{At: 15 * ms, What: history.Restarted}}}},
			[]history.Logged{logged(10, "SET k t1 PXAT @1001"), {At: 18 * ms, Effect: history.Restarted}, logged(30, "SET k t2 PXAT @1020")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "restarted | k: t1 until 1001 -> none", "c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 1020"}},
		{"a replica that lacks the last write", []history.Command{sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"), sent("c2", 2, 4, 5, "OK", "SET l t2 PX 1000 NX")}, nil,
			[]history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(10, "SET l t2 PXAT @1004"), {At: 20 * ms, Effect: history.Promoted, Log: [][]string{words("SET k t1 PXAT @1001")}}},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c2 SET l t2 PX 1000 NX op=2 | l: none -> t2 until 1004", "promoted | l: t2 until 1004 -> none"}},
		{"a clock that jumps", []history.Command{sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"), sent("c2", 2, 20, 21, "OK", "SET k t2 PX 1000 NX")},
			[]history.Window{{Fault: "jump-clock", Effects: []history.Effect{{At: 15 * ms, What: history.ClockSet, By: 2000 * ms}}}},
			[]history.Logged{logged(30, "SET k t1 PXAT @1001"), logged(30, "DEL k", "SET k t2 PXAT @3020")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "clock-set | k: t1 until 1001 -> t1 until -999",
				"expired | k: t1 until -999 -> none", "c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 1020"}},
		{"one value for all clients: the one that was refused wrote nothing", []history.Command{
			sent("c2", 1, 1, 3, "(nil)", "SET k 1 NX PX 1000"),
			sent("c1", 2, 1, 4, "OK", "SET k 1 NX PX 1000"),
		}, nil, []history.Logged{logged(10, "SET k 1 PXAT @1002")},
			[]string{"c1 SET k 1 NX PX 1000 op=2 | k: none -> 1 until 1002"}},
		{"a release that hands over writes the token of the next, who asks and releases later", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k first-token PX 1000"), sent("c2", 3, 3, 3, "OK", "SET n second-token"),
			sent("c1", 2, 4, 5, "1", "EVALSHA pass 2 k n first-token"),
			sent("c2", 4, 7, 8, "1", "EVALSHA pass 2 k n second-token"),
		}, nil, []history.Logged{logged(10, "SET k first-token PXAT @1001"), logged(10, "SET n second-token"), logged(10, "SET k second-token"), logged(10, "DEL n")},
			[]string{"c1 SET k first-token PX 1000 op=1 | k: none -> first-token until 1001", "c2 SET n second-token op=3 | n: none -> second-token",
				"c1 EVALSHA pass 2 k n first-token op=2 | k: first-token until 1001 -> second-token", "c2 EVALSHA pass 2 k n second-token op=4 | n: second-token -> none"}},
		{"a member whose score is the end of its lease, by a script that took long", []history.Command{
			sent("c1", 1, 1, 9, "1", "EVALSHA score 1 z t1 1000"),
			sent("c2", 2, 1, 9, "0", "EVALSHA score 1 z t1 1000"),
		}, nil, []history.Logged{logged(10, "ZADD z @1008 t1")},
			[]string{"c1 EVALSHA score 1 z t1 1000 op=1 | z: none -> map[t1:1.700000001008e+12]"}},
		{"a release before a clock jumps", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c1", 2, 20, 21, "1", "EVALSHA hand 1 k t1 second-token"),
		}, []history.Window{{Fault: "jump-clock", Effects: []history.Effect{{At: 40 * ms, What: history.ClockSet, By: 2000 * ms}}}},
			[]history.Logged{logged(30, "SET k t1 PXAT @1001"), logged(90, "DEL k", "SET k second-token")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "c1 EVALSHA hand 1 k t1 second-token op=2 | k: t1 until 1001 -> second-token", "clock-set"}},
		{"a grant that was sent before the lease was over, to a server that stood still until after", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 PX 1000 NX"),
			sent("c2", 2, 300, 1500, "OK", "SET k t2 PX 1000 NX"),
		}, nil, []history.Logged{logged(10, "SET k t1 PXAT @1001"), logged(1600, "DEL k", "SET k t2 PXAT @2490")},
			[]string{"c1 SET k t1 PX 1000 NX op=1 | k: none -> t1 until 1001", "expired | k: t1 until 1001 -> none", "c2 SET k t2 PX 1000 NX op=2 | k: none -> t2 until 2490"}},
		{"a release that found nothing came before the next grant of the same value", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k 1"),
			sent("c1", 2, 3, 30, "1", "DEL k"),
			sent("c3", 3, 1, 19, "OK", "SET k 1"),
			sent("c4", 4, 13, 14, "0", "DEL k"),
			sent("c2", 5, 15, 18, "OK", "SET k 1"),
		}, nil, []history.Logged{logged(50, "SET k 1"), logged(50, "SET k 1"), logged(50, "DEL k"), logged(50, "SET k 1")},
			[]string{"c1 SET k 1 op=1 | k: none -> 1", "c1 DEL k op=2 | k: 1 -> none", "c2 SET k 1 op=5 | k: none -> 1"}},
		{"of two grants of the same value, their leases tell which came first", []history.Command{
			sent("c1", 1, 1, 70, "OK", "SET k v PX 1000 NX"),
			sent("c2", 2, 12, 50, "OK", "SET k v PX 1000 NX"),
			sent("c3", 3, 13, 14, "1", "DEL k"),
		}, nil, []history.Logged{logged(200, "SET k v PXAT @1002"), logged(200, "DEL k"), logged(200, "SET k v PXAT @1045")},
			[]string{"c1 SET k v PX 1000 NX op=1 | k: none -> v until 1002", "c3 DEL k op=3 | k: v until 1002 -> none", "c2 SET k v PX 1000 NX op=2 | k: none -> v until 1045"}},
		{"a command whose reply cannot be right is passed over", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 NX"),
			sent("c2", 2, 3, 4, "t9", "GET k"),
			sent("c1", 3, 5, 6, "1", "DEL k"),
		}, nil, []history.Logged{logged(10, "SET k t1"), logged(10, "DEL k")},
			[]string{"c1 SET k t1 NX op=1 | k: none -> t1", "c1 DEL k op=3 | k: t1 -> none"}},
		{"a grant that nobody recorded, between commands that were", []history.Command{
			sent("c1", 1, 1, 2, "OK", "SET k t1 NX"),
			sent("c1", 2, 3, 4, "1", "DEL k"),
			sent("c2", 3, 6, 7, "(nil)", "SET k t2 NX"),
			sent("c2", 4, 8, 9, "0", "DEL l"),
		}, nil, []history.Logged{logged(10, "SET k t1"), logged(10, "DEL k"), logged(10, "SET k t3"), logged(10, "SET l t3")},
			[]string{"c1 SET k t1 NX op=1 | k: none -> t1", "c1 DEL k op=2 | k: t1 -> none", "SET k t3 | k: none -> t3", "SET l t3 | l: none -> t3"}},
		{"a queue, whose entries come from time-outs", []history.Command{sent("c1", 1, 1, 2, "1", "LPUSH q a"), sent("c2", 2, 1, 6, `["q", "a"]`, "BRPOP q 1")}, nil,
			[]history.Logged{logged(10, "LPUSH q a"), logged(10, "RPOP q")},
			[]string{"c1 LPUSH q a op=1 | q: none -> [a]", "c2 BRPOP q 1 op=2 | q: [a] -> none"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rec := effects.Record{Header: history.Header{Epoch: epoch * ms}, Commands: row.commands, Scripts: scripts, Faults: row.faults, Logs: row.log}
			events, err := effects.Join(t.Context(), rec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				got = append(got, line(e))
			}
			if strings.Join(got, "\n") != strings.Join(row.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
			for i, e := range events {
				if i > 0 && e.At < events[i-1].At {
					t.Errorf("event %d is at %d, the one before at %d", i, e.At, events[i-1].At)
				}
			}
		})
	}
}

// TestCopies: node 2 copies node 1, which took over while node 0 went on. What it deletes is what
// its primary deleted, though both primaries deleted the key, long after the step before.
func TestCopies(t *testing.T) {
	at := func(node int, c history.Command) history.Command { c.Node = node; return c }
	on := func(node int, steps ...history.Logged) []history.Logged {
		for i := range steps {
			steps[i].Node = node
		}
		return steps
	}
	rec := effects.Record{Header: history.Header{Epoch: epoch * ms, Copies: true},
		Commands: []history.Command{
			at(0, sent("c1", 1, 100, 101, "OK", "SET k t0")),
			at(0, sent("c1", 2, 5010, 5011, "1", "DEL k")),
			at(1, sent("c2", 3, 5000, 5001, "OK", "SET k t1")),
			at(1, sent("c2", 4, 5020, 5021, "1", "DEL k")),
		},
		Logs: slices.Concat(
			on(0, logged(200, "SET k t0"), logged(5200, "DEL k")),
			on(1, logged(200, "SET k t0"), logged(5200, "SET k t1"), logged(5200, "DEL k")),
			on(2, logged(200, "SET k t0"), logged(5200, "SET k t1"), logged(5200, "DEL k")))}
	events, err := effects.Join(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%d ms, node %d, copied %v: %s", e.At/ms, e.Node, e.Copied, line(e)))
	}
	want := []string{
		"100 ms, node 0, copied false: c1 SET k t0 op=1 | k: none -> t0",
		"100 ms, node 1, copied true: c1 SET k t0 op=1 | k: none -> t0",
		"100 ms, node 2, copied true: c1 SET k t0 op=1 | k: none -> t0",
		"5000 ms, node 1, copied false: c2 SET k t1 op=3 | k: t0 -> t1",
		"5000 ms, node 2, copied true: c2 SET k t1 op=3 | k: t0 -> t1",
		"5010 ms, node 0, copied false: c1 DEL k op=2 | k: t0 -> none",
		"5020 ms, node 1, copied false: c2 DEL k op=4 | k: t1 -> none",
		"5020 ms, node 2, copied true: c2 DEL k op=4 | k: t1 -> none",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
