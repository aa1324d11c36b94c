package checker

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

var (
	inTurn = history.Header{Kind: history.Mutex, Lease: 1000 * msec, FIFO: true}
	woken  = history.Header{Kind: history.Mutex, Lease: 10_000 * msec, Wakeups: true}
)

// overtaking: a waits behind c; b comes later and is granted first.
const overtaking = `
		c acquire 0 1 ok
		a acquire 2 50 ok
		b acquire 10 30 ok
		c release 20 21 ok
		b release 40 41 ok
		a release 60 61 ok`

// asks is a request of a client for k, and its reply a millisecond later.
func asks(client string, at int64) history.Command {
	return history.Command{Client: client, Name: "EVALSHA", Args: []string{"take.lua", "1", "k"}, Sent: at * msec, Replied: (at + 1) * msec, Reply: "0"}
}

// slow is a request of b, and its reply.
func slow(name string, sent, replied int64) history.Command {
	return history.Command{Client: "b", Name: name, Args: []string{"take.lua", "1", "k"}, Sent: sent * msec, Replied: replied * msec, Reply: "1"}
}

// failed is a command that the server did not run.
func failed(c history.Command) history.Command {
	c.Reply = "-NOSCRIPT No matching script. Please use EVAL."
	return c
}

// below is a command with a negative number as its reply.
func below(c history.Command) history.Command {
	c.Reply = "-1"
	return c
}

// turnRows are about the order of grants, and about delays.
var turnRows = []row{
	{name: "overtaken in the queue", rule: "overtaken", head: inTurn, ops: overtaking, extra: commands(asks("a", 2), asks("b", 10)), want: "fairness×1"},
	{name: "no order is promised", head: history.Header{Kind: history.Mutex, Lease: 1000 * msec}, ops: overtaking, extra: commands(asks("a", 2), asks("b", 10))},
	{name: "what was not recorded may have come later", head: inTurn, ops: overtaking, extra: commands(asks("b", 10))},
	{name: "who was slow to ask was not there yet", head: inTurn, ops: overtaking, extra: commands(asks("a", 10), asks("b", 11))},
	{name: "who got an error was not there yet", head: inTurn, ops: overtaking, extra: commands(failed(asks("a", 2)), asks("b", 10), asks("a", 11))},
	{name: "a reply below zero is no error", rule: "overtaken", head: inTurn, ops: overtaking, extra: commands(below(asks("a", 2)), asks("b", 10)),
		want: "fairness×1"},
	{name: "a place that may have ended", head: history.Header{Kind: history.Mutex, Lease: 40 * msec, FIFO: true}, ops: overtaking,
		extra: commands(asks("a", 2), asks("b", 10))},
	{name: "a place that was kept", rule: "overtaken", head: history.Header{Kind: history.Mutex, Lease: 40 * msec, FIFO: true}, ops: overtaking,
		extra: commands(asks("a", 2), asks("a", 15), asks("b", 10)), want: "fairness×1"},
	{name: "a waiter met a fault", head: inTurn, ops: overtaking,
		extra: Input{Commands: []history.Command{asks("a", 2), asks("b", 10)}, Faults: []history.Window{{Fault: "pause-client", Client: "a", Start: 3 * msec, End: 4 * msec, Confirmed: true}}}},
	{name: "the first requests of two crossed", head: inTurn, ops: overtaking, extra: commands(asks("a", 9), asks("b", 10))},
	{name: "the node executed the first requests in that order", rule: "overtaken", head: inTurn, ops: overtaking,
		extra: commands(turn(1, asks("a", 9)), turn(2, asks("b", 10))), want: "fairness×1"},
	{name: "who came first is within the clock error", head: history.Header{Kind: history.Mutex, Lease: 1000 * msec, FIFO: true, ClockError: 8 * msec}, ops: overtaking,
		extra: commands(asks("a", 2), asks("b", 10))},
	{name: "two readers may have been granted in either order", head: history.Header{Kind: history.RW, Lease: 1000 * msec, FIFO: true}, ops: sharedOvertaking,
		extra: commands(asks("a", 2), asks("b", 10))},
	{name: "a reader asked again after another had been granted", rule: "overtaken", head: history.Header{Kind: history.RW, Lease: 1000 * msec, FIFO: true}, ops: `
		c acquire 0 1 ok
		a acquire 2 50 ok asked=35 shared
		b acquire 10 30 ok shared
		c release 20 21 ok`, extra: commands(asks("a", 2), asks("a", 35), asks("b", 10)), want: "fairness×1"},

	{name: "a waiter slept on", rule: "late-grant", head: woken, ops: lateBy1100, want: "progress×1"},
	{name: "a lock that wakes nobody may be left free for a lease", head: history.Header{Kind: history.Mutex, Lease: 10_000 * msec}, ops: lateBy1100},
	{name: "a message may have been lost", head: woken, ops: lateBy1100,
		extra: Input{Faults: []history.Window{{Fault: "cut-pubsub", Client: "b", Start: 60 * msec, End: 61 * msec, Confirmed: true}}}},
	{name: "a waiter's requests were slow", head: woken, ops: lateBy1100, extra: commands(slow("EVAL", 150, 300), slow("EVAL", 1100, 1195))},
	{name: "a waiter's requests took a part of the time", rule: "late-grant", head: woken, ops: lateBy1100,
		extra: commands(slow("EVAL", 50, 150), slow("EVAL", 1100, 1140)), want: "progress×1"},
	{name: "a waiter waited at the server", rule: "late-grant", head: woken, ops: lateBy1100, extra: commands(slow("BLPOP", 150, 1195)), want: "progress×1"},
	{name: "attempts far apart are not one wait", head: woken, ops: `
		a acquire 0 1 fail
		b acquire 60000 60001 fail
		a acquire 64000 64001 ok`},
	{name: "what refused far apart was there meanwhile", rule: "free-but-refused", head: inTurn, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 5000 5001 busy
		b acquire 9000 9001 busy`, want: "progress×1 refusal×2"},
	{name: "late within the clock error", head: history.Header{Kind: history.Mutex, Lease: 10_000 * msec, Wakeups: true, ClockError: 100 * msec}, ops: lateBy1100},
	{name: "a clock that was set back lets a lease last", head: inTurn, ops: afterLease,
		extra: Input{Faults: []history.Window{{Fault: faultJumpClock, Start: 500 * msec, End: 505 * msec, Confirmed: true,
			Effects: []history.Effect{{At: 502 * msec, What: history.ClockSet, By: -3000 * msec}}}}}},
	{name: "a clock that was set forward does not", rule: "free-but-refused", head: inTurn, ops: afterLease,
		extra: Input{Faults: []history.Window{{Fault: faultJumpClock, Start: 500 * msec, End: 505 * msec, Confirmed: true,
			Effects: []history.Effect{{At: 502 * msec, What: history.ClockSet, By: 3000 * msec}}}}}, want: "progress×1"},
	{name: "who gave up was kept from a free lock", rule: "free-but-refused", head: woken, ops: `
		a acquire 0 1 ok
		a release 100 101 ok
		b acquire 50 1201 fail
		b acquire 1300 1301 ok`, want: "progress×1"},
}

// sharedOvertaking is the same for two readers behind a writer.
const sharedOvertaking = `
		c acquire 0 1 ok
		a acquire 2 50 ok shared
		b acquire 10 30 ok shared
		c release 20 21 ok`

// afterLease is a wait for a hold that is never released.
const afterLease = `
		a acquire 0 1 ok
		b acquire 600 3500 busy
		b acquire 4100 4101 ok`

// turn numbers a command among those of its node.
func turn(n uint64, c history.Command) history.Command {
	c.Turn = n
	return c
}

// TestOrderIsJudged: a grant in order of arrival is judged, one beside a waiter of which it is not known when it came is no opportunity, and one past a waiter
// that met a fault is not judged.
func TestOrderIsJudged(t *testing.T) {
	ordered := `
		c acquire 0 1 ok
		a acquire 2 30 ok
		b acquire 10 50 ok
		c release 20 21 ok
		a release 40 41 ok`
	paused := []history.Window{{Fault: "pause-client", Client: "a", Start: 3 * msec, End: 4 * msec, Confirmed: true}}
	for _, r := range []struct {
		name           string
		ops            string
		in             Input
		judged, beside int
	}{
		{"in order", ordered, commands(asks("a", 2), asks("b", 10)), 1, 0},
		{"in an order that is not known", strings.Replace(ordered, "b acquire 10", "b acquire 2", 1), commands(asks("a", 2), asks("b", 2)), 0, 0},
		{"past one that met a fault", overtaking, Input{Commands: []history.Command{asks("a", 2), asks("b", 10)}, Faults: paused}, 0, 1},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := row{head: inTurn, ops: r.ops, extra: r.in}.check(t).property(verdicts.Fairness)
			if p.Judged != r.judged || p.NotJudged[metAFault] != r.beside {
				t.Errorf("%+v", p)
			}
		})
	}
}

// lateBy1100 is a release, and a waiter that is granted 1,099 ms later.
const lateBy1100 = `
		a acquire 0 1 ok
		b acquire 50 1200 ok
		a release 100 101 ok
		b release 1300 1301 ok`
