package checker

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

const msec = int64(1_000_000)

var (
	leased    = history.Header{Kind: history.Mutex, Lease: 100 * msec}
	forever   = history.Header{Kind: history.Mutex}
	reentrant = history.Header{Kind: history.Reentrant, Lease: 100 * msec}
	woken     = history.Header{Kind: history.Reentrant, Lease: 1000 * msec, Wakeups: true}
)

// crash is a confirmed crash of a client.
func crash(client string, at int64) history.Window {
	return history.Window{Fault: "crash-client", Does: history.Kills, Client: client, Node: -1, Start: at, End: at, Confirmed: true}
}

// TestRules: what each rule says, in the smallest record that a lock can leave.
func TestRules(t *testing.T) {
	// the node's clock was set, and right again at 60
	jumped := history.Window{Fault: "jump-clock", Does: history.MovesClock, Node: 0, Start: 20 * msec, End: 21 * msec, Confirmed: true,
		Effects: []history.Effect{{What: history.ClockSet, At: 20 * msec, By: 1000 * msec}, {What: history.ClockSet, At: 60 * msec, By: -1000 * msec}}}
	server := history.Window{Fault: "kill-server", Does: history.Kills | history.LosesData, Node: 0, Start: 20 * msec, End: 30 * msec, Confirmed: true}
	for _, row := range []struct {
		name, want string // properties that fail
		head       history.Header
		ops        string
		faults     []history.Window
		commands   []history.Command
	}{
		{name: "two were told", head: leased, ops: "a acquire 0 1 ok\nb acquire 2 3 ok", want: "mutual-exclusion linearizability"},
		{name: "by no more than the clock error", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 99 * msec}, ops: "a acquire 0 1 ok\nb acquire 2 3 ok"},
		{name: "the first had been told until then", head: leased, ops: "a acquire 0 1 ok until=2\nb acquire 2 3 ok"},
		{name: "the first had crashed", head: leased, ops: "a acquire 0 1 ok\nb acquire 5 6 ok", faults: []history.Window{crash("a", 3*msec)}},
		{name: "the first had learnt that it was gone", head: leased, ops: "a acquire 0 1 ok\na lost 3 3\nb acquire 5 6 ok", want: "renewal"},
		{name: "an extend in time goes on", head: leased, ops: "a acquire 0 1 ok\na extend 50 51 ok\nb acquire 120 121 ok", want: "mutual-exclusion linearizability"},
		{name: "an extend too late leaves a gap", head: leased, ops: "a acquire 0 1 ok until=50\nb acquire 51 52 ok until=60\na extend 70 71 ok"},
		{name: "a re-entry is no second holder", head: reentrant, ops: "a acquire 0 1 ok\na acquire 2 3 ok\na release 4 5 ok\na release 6 7 ok"},
		{name: "readers share", head: history.Header{Kind: history.RW, Lease: 100 * msec}, ops: "a acquire 0 1 ok shared token=x\nb acquire 2 3 ok shared token=y"},
		{name: "a reader and a writer do not", head: history.Header{Kind: history.RW, Lease: 100 * msec}, ops: "a acquire 0 1 ok shared token=x\nb acquire 2 3 ok token=y", want: "mutual-exclusion linearizability"},
		{name: "more than permits", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}, ops: "a acquire 0 1 ok token=x\na acquire 2 3 ok token=y\nb acquire 4 5 ok token=z", want: "mutual-exclusion linearizability"},

		{name: "two were inside", head: leased, ops: "a acquire 0 1 ok until=10\nb acquire 20 21 ok\na use 1 30\nb use 21 25", want: "exclusive-use"},
		// PostgreSQL frees an advisory lock when its client's connection ends, before the client is seen
		// dead: examples/beside, pg-advisory × crash-holder.
		{name: "the first was seen dead a little later", head: forever, ops: "a acquire 0 1 ok\nb acquire 2 20 ok\na use 1 21\nb use 20 25", faults: []history.Window{crash("a", 18*msec)}},
		{name: "it had crashed earlier", head: leased, ops: "a acquire 10 11 ok until=20\nb acquire 30 31 ok\na use 11 50\nb use 31 40", faults: []history.Window{crash("a", 5*msec)}, want: "exclusive-use"},

		{name: "a free lock was refused", head: leased, ops: "a acquire 0 1 ok\na release 2 3 ok\nb acquire 4 5 busy", want: "linearizability refusal"},
		{name: "one that was being released", head: leased, ops: "a acquire 0 1 ok\na release 2 5 ok\nb acquire 4 5 busy"},
		{name: "one that a grant under way may have had", head: leased, ops: "a acquire 0 20 ok\nb acquire 4 5 busy"},
		{name: "but not before it was asked", head: leased, ops: "a acquire 0 20 ok asked=10\nb acquire 4 5 busy", want: "refusal"},
		{name: "an acquire of unknown outcome", head: leased, ops: "a acquire 0 1 unknown\nb acquire 4 5 busy"},
		{name: "which ended a lease after its client's next answer", head: leased, ops: "a acquire 0 1 unknown\na acquire 3 4 busy\nb acquire 110 111 busy", want: "linearizability refusal"},
		{name: "a fault of the server met it", head: leased, ops: "b acquire 25 26 busy", faults: []history.Window{server}},
		{name: "one of another time", head: leased, ops: "b acquire 45 46 busy", faults: []history.Window{server}, want: "linearizability refusal"},
		{name: "votes may split", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: "a acquire 4 6 busy\nb acquire 4 5 busy"},
		{name: "by the clock of the refused, both permits may have been held", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec, ClockError: 2 * msec}, ops: `
			a acquire 0 1 ok token=x
			a release 9 10 ok token=x
			c acquire 10.5 11.5 busy
			b acquire 12 13 ok token=y`},
		{name: "two of three permits were possible", head: history.Header{Kind: history.Semaphore, Permits: 3, Lease: 100 * msec}, ops: "a acquire 0 1 ok token=x\na acquire 2 3 ok token=y\nb acquire 4 5 busy", want: "linearizability refusal"},

		{name: "a lower fence", head: leased, ops: "a acquire 0 1 ok fence=5\na release 2 3 ok\nb acquire 4 5 ok fence=4\nb release 6 7 ok", want: "linearizability fencing-order"},
		{name: "a re-entry repeats its fence", head: reentrant, ops: "a acquire 0 1 ok fence=5\na acquire 4 5 ok fence=5"},

		{name: "two writes read one version", head: leased, ops: "a write 0 1 ok readversion=1 version=2 read=7 wrote=8\nb write 0 1 ok readversion=1 version=3 read=7 wrote=8", want: "store-integrity"},
		{name: "or, without versions, one value", head: leased, ops: "a write 0 1 ok read=7 wrote=8\nb write 0 1 ok read=7 wrote=9", want: "store-integrity"},
		{name: "a value that was written twice tells nothing", head: leased, ops: "a write 0 1 ok read=7 wrote=8\nb write 2 3 ok read=8 wrote=7\na write 4 5 ok read=7 wrote=8\na write 6 7 ok read=8 wrote=7"},
		{name: "a fence below that of an earlier version", head: leased, ops: "a write 0 9 ok readversion=1 version=2 fence=5\nb write 0 9 ok readversion=2 version=3 fence=4", want: "store-integrity"},
		{name: "a write after its hold, and after a later one's", head: leased, ops: `
			a acquire 0 1 ok token=x
			b acquire 200 201 ok token=y
			b write 202 203 ok readversion=0 version=1
			a write 204 205 ok readversion=1 version=2`, want: "store-integrity"},

		{name: "a later hold of the same owner does not conflict", head: reentrant, ops: `
			a acquire 0 1 ok token=x
			a acquire 2 3 ok token=x
			a write 4 5 ok readversion=0 version=1
			a release 6 7 ok token=x
			a acquire 200 201 unknown
			a write 204 205 ok readversion=1 version=2`},

		{name: "an extend of what is gone", head: leased, ops: "a acquire 0 1 ok\na extend 300 301 ok", want: "release-safety"},
		{name: "but an acquire of unknown outcome may have begun it", head: reentrant, ops: "a acquire 0 1 ok token=x\na extend 150 151 lost token=x\na acquire 155 156 unknown\na extend 157 158 ok token=x"},
		{name: "the release of a re-entry, of unknown outcome, may have renewed the hold around it", head: reentrant, ops: "a acquire 0 1 ok\na acquire 2 3 ok\na release 4 90 unknown\na extend 150 151 ok"},
		{name: "the release of one, around which another of unknown outcome may have begun", head: reentrant, ops: "a acquire 0 1 unknown\na acquire 2 3 ok\na release 4 90 unknown\na extend 150 151 ok"},
		{name: "an extend after the release", head: leased, ops: "a acquire 0 1 ok token=x\na release 2 3 ok token=x\na extend 4 5 ok token=x", want: "release-safety"},
		{name: "a release of what is gone harms nobody", head: leased, ops: "a acquire 0 1 ok\na release 300 301 ok"},
		{name: "but it ended another's", head: leased, ops: "a acquire 0 1 ok token=x\nb acquire 290 291 ok token=y\na release 300 301 ok token=x\nb release 310 311 not_held token=y", want: "release-safety"},
		{name: "a release of a live hold was refused", head: leased, ops: "a acquire 0 1 ok\na release 10 11 not_held", want: "release-safety"},
		{name: "that another ended: one violation, of the other", head: leased, ops: "a acquire 0 1 ok token=x\nb release 3 4 ok token=y\na release 10 11 not_held token=x", want: "release-safety"},
		{name: "a fault of the server met the hold", head: leased, ops: "a acquire 0 1 ok\na release 40 41 not_held", faults: []history.Window{server}},

		{name: "who was refused, and came back late, has not waited", head: leased, ops: "b acquire 0 1 ok\na acquire 10 11 busy\nb release 20 21 ok\nc acquire 2000 2001 ok\na acquire 2010 2011 busy"},
		{name: "an extend of a live hold failed at the server", head: leased, ops: "a acquire 0 1 ok\na extend 10 11 fail", want: "renewal",
			commands: []history.Command{{Client: "a", Op: 2, Sent: 10 * msec, Replied: 11 * msec, Name: "PEXPIRE", Args: []string{"job", "33.3"}, Reply: "-ERR value is not an integer or out of range"}}},
		{name: "one that asked no server failed", head: leased, ops: "a acquire 0 1 ok\na extend 10 11 fail"},
		{name: "an extend of a live hold was refused", head: leased, ops: "a acquire 0 1 ok\na extend 10 11 lost", want: "renewal"},
		// rueidislock × clock-jump: it asks for an instant of its own clock
		{name: "a fault had set the clock that ended it", head: leased, ops: "a acquire 40 41 ok\na lost 45 45", faults: []history.Window{jumped}},
		{name: "and had set it right since", head: leased, ops: "a acquire 70 71 ok\na lost 75 75", faults: []history.Window{jumped}, want: "renewal"},
		{name: "the owner was refused", head: reentrant, ops: "a acquire 0 1 ok\na acquire 10 11 busy", want: "reentrancy"},
		{name: "but not while another held, before an extend that may be of a grant whose reply was lost", head: reentrant, ops: `
			a acquire 0 1 ok token=x
			b acquire 150 151 ok token=y
			a acquire 160 161 busy
			b release 170 171 ok token=y
			a acquire 180 190 unknown
			a extend 192 193 ok token=x`},
		{name: "two refusals so far apart that the first may be as old as its call are two waits", head: leased, ops: `
			a acquire 0 1 ok
			b acquire 50 900 busy
			c acquire 1850 1851 ok
			b acquire 1900 1901 busy`},
		{name: "a notice of loss ends a nest", head: reentrant, ops: "a acquire 0 1 ok until=told\na acquire 2 3 ok until=told\na lost 200 200\nb acquire 210 211 ok\na release 220 221 not_held\nb release 222 223 ok"},
		{name: "or waits for itself", head: history.Header{Kind: history.Reentrant, Lease: 5000 * msec}, ops: "a acquire 0 1 ok\na acquire 10 1200 fail", want: "reentrancy"},
		{name: "for less than the grace", head: reentrant, ops: "a acquire 0 1 ok\na acquire 10 90 fail"},

		{name: "a free lock that nobody gets", head: leased, ops: "a acquire 0 1 ok\na release 2 3 ok\nb acquire 1200 2500 fail", want: "progress"},
		{name: "for no longer than a lease and a second", head: leased, ops: "a acquire 0 1 ok\na release 2 3 ok\nb acquire 10 1100 fail"},
		{name: "while a fault of the server lasted", head: leased, ops: "b acquire 1000 3000 fail", faults: []history.Window{{Fault: "kill-server", Does: history.Kills | history.LosesData, Node: 0, Start: 900 * msec, End: 2500 * msec, Confirmed: true}}},
		{name: "one of another client excuses nothing", head: leased, ops: "a acquire 0 1 ok\na release 2 3 ok\nb acquire 1000 3000 fail", faults: []history.Window{crash("a", 1500*msec)}, want: "progress"},
		{name: "nothing expires, and the holder has died", head: forever, ops: "a acquire 0 1 ok\nb acquire 2 2000 fail", faults: []history.Window{crash("a", 3*msec)}, want: "progress"},
		// three by Redisson
		{name: "an inner release was lost: the entry is renewed with the others", head: woken, ops: `
			a acquire 0 1 ok
			a acquire 2 3 ok
			a extend 600 601 ok
			a release 750 751 unknown
			a extend 1400 1401 ok
			a extend 2200 2201 ok
			a release 3000 3001 ok
			b acquire 1500 4012 ok asked=4010`},
		{name: "so is that of a lost grant", head: woken, ops: `
			a acquire 0 1 unknown
			a acquire 2 3 ok
			a extend 600 601 ok
			a release 1500 1501 ok
			b acquire 3 2510 ok asked=2502`},
		{name: "a re-entry is under way, long after the grant", head: woken, ops: `
			a acquire 0 5 ok
			a acquire 5 3000 ok
			a extend 600 601 ok
			a extend 1400 1401 ok
			a extend 2200 2201 ok
			b acquire 10 2900 fail`,
			commands: []history.Command{{Client: "a", Op: 1, Sent: 0, Ran: 2 * msec, Replied: 5 * msec}, {Client: "a", Op: 2, Sent: 5 * msec, Ran: 2999 * msec, Replied: 3000 * msec}}},
		{name: "its watchdog went on until the release was answered", head: reentrant, ops: `
			a acquire 0 1 ok
			a release 90 2400 unknown
			b acquire 2 2500 ok asked=2490`,
			commands: []history.Command{{Client: "a", Op: 2, Sent: 90 * msec, Name: "EVALSHA"}, {Client: "a", Op: 2, Sent: 180 * msec, Ran: 181 * msec, Name: "EVALSHA"},
				{Client: "a", Op: 2, Sent: 2380 * msec, Ran: 2381 * msec, Name: "EVALSHA"}}},
		{name: "a lock that wakes its waiters", head: history.Header{Kind: history.Mutex, Lease: 60_000 * msec, Wakeups: true}, ops: "a acquire 0 1 ok\na release 2 3 ok\nb acquire 1 1500 ok asked=1490", want: "progress"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := verdictOf(t, Input{Header: row.head, Faults: row.faults, Commands: row.commands}, parse(t, row.ops), Options{})
			if got := broken(v); got != row.want {
				t.Errorf("%q fail, want %q: %+v", got, row.want, v.Properties)
			}
		})
	}
}

// TestOddInputIsRefused, with the line.
func TestOddInputIsRefused(t *testing.T) {
	for _, row := range []struct{ name, ops, line string }{
		{"a negative time", "a acquire -1 1 ok", "2: call"},
		{"a return before the call", "a acquire 3 1 ok", "2: return"},
		{"two things at once", "a acquire 0 5 ok\na release 3 6 ok", "3: client \"a\" calls release at 3000000"},
		{"a token twice", "a acquire 0 1 ok token=x\nb acquire 2 3 ok token=x", "3: token \"x\" is granted a second time"},
		{"which hold?", "a acquire 0 1 ok\na acquire 2 3 ok\na release 4 5 ok", "4: client \"a\" calls release without a token and has 2 open holds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Check(t.Context(), Input{Header: leased, File: "h.jsonl", Ops: history.NewSlice(parse(t, row.ops))}, Options{})
			var syntax *history.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), row.line) || !errors.Is(err, ErrAssumption) {
				t.Errorf("%v, want a line with %q", err, row.line)
			}
		})
	}
}

// TestMarks: with effects, what a command did to another's mark is seen whatever its client
// reports.
func TestMarks(t *testing.T) {
	text := func(value string, until int64) *history.Datum {
		return &history.Datum{Value: value, Until: until * msec}
	}
	set := func(op uint64, client string, at int64, before, after *history.Datum) history.Executed {
		return history.Executed{Op: op, Client: client, At: at * msec, Changes: []history.DataChange{{Key: "job", Before: before, After: after}}}
	}
	ops := "a acquire 0 2 ok token=x\nb acquire 300 302 ok token=y\n"
	grants := []history.Executed{set(1, "a", 1, nil, text("x", 101)), {At: 101 * msec, Effect: history.Expired,
		Changes: []history.DataChange{{Key: "job", Before: text("x", 101)}}}, set(2, "b", 301, nil, text("y", 401))}
	for _, row := range []struct {
		name, ops, want string
		then            []history.Executed
	}{
		{"a release deletes another's", "a release 310 312 ok token=x", "release-safety", []history.Executed{set(3, "a", 311, text("y", 401), nil)}},
		{"whatever it reports", "a release 310 312 not_held token=x", "release-safety", []history.Executed{set(3, "a", 311, text("y", 401), nil)}},
		{"an extend prolongs another's", "a extend 310 312 lost token=x", "release-safety", []history.Executed{set(3, "a", 311, text("y", 401), text("y", 411))}},
		{"so does a watchdog", "", "release-safety", []history.Executed{set(0, "a", 311, text("y", 401), text("y", 411))}},
		{"its own", "", "", []history.Executed{set(0, "b", 311, text("y", 401), text("y", 411))}},
		{"a release that finds nothing", "a release 310 312 ok token=x", "", nil},
		{"a release that does nothing, and the next is refused", "b release 310 312 ok token=y\nc acquire 320 321 busy", "release-safety linearizability refusal", nil},
		{"or is granted only when the mark has gone", "b release 310 312 ok token=y\nc acquire 320 403 ok asked=402 token=z", "release-safety",
			[]history.Executed{{At: 401 * msec, Effect: history.Expired, Changes: []history.DataChange{{Key: "job", Before: text("y", 401)}}}, set(4, "c", 402, nil, text("z", 502))}},
		{"and a third waits all the time", "b release 310 312 ok token=y\nc acquire 320 403 ok asked=402 token=z\nd acquire 303 505 ok asked=504 token=w", "release-safety",
			[]history.Executed{{At: 401 * msec, Effect: history.Expired, Changes: []history.DataChange{{Key: "job", Before: text("y", 401)}}}, set(4, "c", 402, nil, text("z", 502))}},
		{"a refused release, whose mark was there", "b release 310 312 not_held token=y", "release-safety", nil},
		{"or which it took away, and denies it", "b release 310 312 not_held token=y", "release-safety", []history.Executed{set(3, "b", 310, text("y", 401), nil)}},
		{"or which another had deleted", "b release 310 312 not_held token=y", "", []history.Executed{set(9, "c", 305, text("y", 401), nil)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tried := history.Command{Client: "c", Op: 4, Sent: 320 * msec, Replied: 321 * msec, Name: "SET", Args: []string{"job", "z", "NX"}, Reply: "(nil)"}
			in := Input{Header: leased, Effects: slices.Concat(grants, row.then), Commands: []history.Command{tried}}
			v := verdictOf(t, in, parse(t, ops+row.ops), Options{})
			if got := broken(v); got != row.want {
				t.Errorf("%q fail, want %q", got, row.want)
			}
			first := v.property(verdicts.ReleaseSafety).First
			if done := len(row.then) == 1 && row.then[0].At == 311*msec && first != nil; done && first.At != 311*msec {
				t.Errorf("it broke at %d, want the instant at which the node executed it", first.At)
			}
		})
	}
}

// TestMarksAfterAFault: whether a hold was live after its node's clock was set is not known, and so
// neither is whether a release that took its mark away was wrong.
func TestMarksAfterAFault(t *testing.T) {
	took := []history.Executed{
		{Op: 1, Client: "b", At: msec, Changes: []history.DataChange{{Key: "job", After: &history.Datum{Value: "y", Until: 101 * msec}}}},
		{Op: 2, Client: "a", At: 11 * msec, Changes: []history.DataChange{{Key: "job", Before: &history.Datum{Value: "y", Until: 101 * msec}}}},
	}
	set := history.Window{Fault: "jump-clock", Does: history.MovesClock, Node: 0, Start: 5 * msec, End: 5 * msec, Confirmed: true}
	in := Input{Header: leased, Effects: took, Faults: []history.Window{set}}
	p := verdictOf(t, in, parse(t, "b acquire 0 2 ok token=y\na release 10 12 ok token=x"), Options{}).property(verdicts.ReleaseSafety)
	if p.Verdict != Inconclusive || p.Judged != 0 || p.NotJudged[metAFault] != 1 {
		t.Errorf("%s, %d judged, not judged %v; want one that met a fault", p.Verdict, p.Judged, p.NotJudged)
	}
}

// TestNothingJudgedIsInconclusive, and judged is what the opportunities are.
func TestNothingJudgedIsInconclusive(t *testing.T) {
	v := verdictOf(t, Input{Header: leased}, parse(t, "a release 1 2 fail"), Options{})
	if v.Verdict != Inconclusive || !slices.Contains(v.Notes, "nothing was judged") {
		t.Errorf("%s %v", v.Verdict, v.Notes)
	}
	v = verdictOf(t, Input{Header: leased}, parse(t, "a acquire 0 1 unknown\nb acquire 4 5 busy"), Options{})
	if p := v.property(verdicts.Refusal); p.Verdict != Inconclusive || p.Judged != 0 || p.NotJudged[unknownOutcomes] != 1 {
		t.Errorf("%+v", p)
	}
}
