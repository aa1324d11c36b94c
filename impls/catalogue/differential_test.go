package catalogue_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// longLeases never end in this test, so that all parties see the same data; whole seconds and not.
var longLeases = []time.Duration{20 * time.Second, 20*time.Second + 500*time.Millisecond}

// TestScriptsAnswerAlike runs every lock through the same calls, and sends its commands again to
// redis-server, to miniredis and to the simulator's node, one by one: replies and data must be
// equal, or a verdict of the simulator says nothing about Redis. Then it sends the same commands in
// random order and with each other's arguments; rapid prints the seed of a failure.
func TestScriptsAnswerAlike(t *testing.T) {
	trial := &trial{parties: parties(t), names: catalogue.ScriptNames(), replayed: map[string]bool{}}
	told := map[string][][]any{}
	for _, v := range all() {
		if len(v.Scripts) == 0 {
			continue
		}
		trial.load(t, v)
		for _, lease := range longLeases {
			told[v.Name] = append(told[v.Name], withoutHandshake(story(t, v, lease))...)
		}
		trial.compare(t, v.Name, told[v.Name])
	}
	names := slices.Sorted(maps.Keys(told))
	rapid.Check(t, func(r *rapid.T) {
		lock := rapid.SampledFrom(names).Draw(r, "lock")
		trial.compare(r, lock, shuffled(r, told[lock]))
	})
	for _, v := range all() {
		for _, s := range v.Scripts {
			if !trial.replayed[s.Name] {
				t.Errorf("%s: no call of %s was compared", v.Name, s.Name)
			}
		}
	}
}

func all() []impls.Variant { return append(catalogue.Locks(), catalogue.Planted()...) }

// withoutHandshake leaves out a handshake, whose reply has the server's version, WAIT, to which
// miniredis replies at once, and how waiters wait.
func withoutHandshake(story [][]any) [][]any {
	return slices.DeleteFunc(story, func(args []any) bool {
		return slices.Contains([]any{"hello", "wait", "subscribe", "unsubscribe", "blpop"}, args[0])
	})
}

// shuffled draws a story from the commands of another. It swaps the arguments after a script's keys
// with those of other calls of the script.
func shuffled(r *rapid.T, told [][]any) [][]any {
	out := make([][]any, rapid.IntRange(1, 12).Draw(r, "commands"))
	for i := range out {
		args := slices.Clone(rapid.SampledFrom(told).Draw(r, "command"))
		if name := fmt.Sprint(args[0]); name == "evalsha" && rapid.Bool().Draw(r, "mixed") {
			other := rapid.SampledFrom(told).Draw(r, "arguments of")
			if len(other) == len(args) && other[1] == args[1] {
				at := rapid.IntRange(3, len(args)-1).Draw(r, "from")
				copy(args[at:], other[at:])
			}
		}
		out[i] = args
	}
	return out
}

// trial is the comparison of one command after the other.
type trial struct {
	parties  []party
	names    map[string]string // of scripts by digest
	replayed map[string]bool   // scripts by name
	spread   time.Duration     // the longest time from the first party's beginning of a command to the last one's end
}

// load loads a lock's scripts into all parties.
func (x *trial) load(t *testing.T, v impls.Variant) {
	t.Helper()
	for _, p := range x.parties {
		for _, s := range v.Scripts {
			for _, form := range []*impls.Script{s, s.Millis()} {
				if err := p.redis.ScriptLoad(t.Context(), form.Source).Err(); err != nil {
					t.Fatalf("%s: %s: %v", p.name, form.Name, err)
				}
			}
		}
	}
}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compare sends a story to all parties, from no data.
func (x *trial) compare(t tester, lock string, story [][]any) {
	t.Helper()
	x.spread = 0
	for _, args := range append([][]any{{"flushall"}}, story...) {
		replies := x.ask(args)
		if replies[0] == unknownCommand {
			continue // newer than this server
		}
		for i, got := range replies {
			if !x.alike(x.parties[i].known(replies[0]), got) {
				t.Fatalf("%s: %s\n%s answers %s\nRedis answers %s", lock, brief(args), x.parties[i].name, got, replies[0])
			}
		}
		if x.note(args) { // plain commands are not compared
			x.compareData(t, lock, args)
		}
	}
}

// ask sends a command to all parties, and measures how far apart they executed it.
func (x *trial) ask(args []any) []string {
	begin := time.Now()
	replies := make([]string, len(x.parties))
	for i, p := range x.parties {
		replies[i] = p.reply(args)
	}
	x.spread = max(x.spread, time.Since(begin))
	return replies
}

// known returns the part of a Redis reply that a party can reproduce: miniredis does not keep the
// codes of errors.
func (p party) known(reply string) string {
	if !p.codes && strings.HasPrefix(reply, failed) && reply != failed+"NOSCRIPT" {
		return failed + "ERR"
	}
	return reply
}

func (x *trial) compareData(t tester, lock string, args []any) {
	t.Helper()
	begin := time.Now()
	dumps := make([][]string, len(x.parties))
	for i, p := range x.parties {
		dumps[i] = p.dump()
	}
	x.spread = max(x.spread, time.Since(begin))
	for i, d := range dumps {
		if !slices.EqualFunc(dumps[0], d, x.alike) {
			t.Fatalf("%s: after %s\n%s holds %q\nRedis holds %q", lock, brief(args), x.parties[i].name, d, dumps[0])
		}
	}
}

// note marks the script of a call as compared, and reports whether it is one.
func (x *trial) note(args []any) bool {
	digest := ""
	switch fmt.Sprint(args[0]) {
	case "evalsha":
		digest = fmt.Sprint(args[1])
	case "eval":
		digest = impls.NewScript("", fmt.Sprint(args[1])).Digest()
	}
	x.replayed[x.names[digest]] = true
	return digest != ""
}

func brief(args []any) string {
	text := fmt.Sprint(args...)
	return text[:min(len(text), 300)]
}

// alike compares two lines word by word, exactly except for times. A time is a number above a
// thousand; two may differ by as much as the parties were apart when it was made and when it was
// read, and by a millisecond of rounding each time.
func (x *trial) alike(one, two string) bool {
	return slices.EqualFunc(strings.Fields(one), strings.Fields(two), func(a, b string) bool {
		return a == b || apart(a, b) <= 2*x.spread+2*time.Millisecond
	})
}

// never is further apart than any two times.
const never = time.Duration(1<<63 - 1)

// apart is the time between two words that are times: milliseconds left or of the date,
// microseconds of the date.
func apart(a, b string) time.Duration {
	m, errA := strconv.ParseInt(strings.Trim(a, `"`), 10, 64)
	n, errB := strconv.ParseInt(strings.Trim(b, `"`), 10, 64)
	if errA != nil || errB != nil || min(m, n) <= 1000 {
		return never
	}
	unit := time.Millisecond
	if min(m, n) > 1e14 {
		unit = time.Microsecond
	}
	return time.Duration(max(m-n, n-m)) * unit
}

func TestAlike(t *testing.T) {
	rows := []struct {
		one, two string
		spread   time.Duration
		want     bool
	}{
		{"1", "1", 0, true},
		{"1", "0", time.Hour, false},
		{"1", `"1"`, time.Hour, false}, // an integer and a string
		{"job string tok left 20000", "job string tok left 19990", 4 * time.Millisecond, true},
		{"job string tok left 20000", "job string tok left 19989", 4 * time.Millisecond, false},
		{"job string tok left 20000", "job string tok left -1", time.Hour, false},
		{"1795175074950", "1795175074952", 0, true}, // rounded to milliseconds, twice
		{"1795175074950", "1795175074953", 0, false},
		{"1795175074950000", "1795175074952001", 0, false}, // microseconds
		{"nil", "1", time.Hour, false},
		{failed + "ERR", failed + "WRONGTYPE", time.Hour, false},
	}
	for _, r := range rows {
		x := &trial{spread: r.spread}
		if x.alike(r.one, r.two) != r.want {
			t.Errorf("%q and %q, %v apart: alike %v, want %v", r.one, r.two, r.spread, !r.want, r.want)
		}
	}
}
