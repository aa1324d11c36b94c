package story

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

func TestRecordedWords(t *testing.T) {
	long := strings.Repeat("x", mostOfWord)
	for _, row := range []struct{ word, name, key string }{
		{"job", "job", `"job"`},                                                // a key is always quoted
		{"", `""`, `""`},                                                       // an empty word would be invisible
		{"two words", `"two words"`, `"two words"`},                            // it is one word
		{`a"b`, `"a\"b"`, `"a\"b"`},                                            // so its quotation marks are part of it
		{"\x1b[2J", `"\x1b[2J"`, `"\x1b[2J"`},                                  // would move the cursor
		{"\u202eevil", `"\u202eevil"`, `"\u202eevil"`},                         // would reverse the line
		{long, long, `"` + long + `"`},                                         // as long as is allowed
		{long + "y", `"` + long[3:] + `"...`, `"` + long[3:] + `"...`},         // longer: cut at its end,
		{"lb:" + long, `"lb:` + long[6:] + `"...`, `"lb:` + long[6:] + `"...`}, // and not at its beginning
	} {
		if got := shortened(row.word); got != row.name {
			t.Errorf("%q as a name: %s, want %s", row.word, got, row.name)
		}
		if got := quoted(row.word); got != row.key {
			t.Errorf("%q as a key: %s, want %s", row.word, got, row.key)
		}
	}
}

func TestSpan(t *testing.T) {
	for ns, want := range map[int64]string{
		-100 * milli: "-100 ms", -10*milli - 600_000: "-11 ms", 0: "0 ms", 7: "7 ns", -400: "-400 ns", 7_000: "7 µs", 700_000: "0.7 ms", 12_400_000: "12 ms", 12 * second: "12.0 s"} {
		if got := span(ns); got != want {
			t.Errorf("%d ns are shown as %s, want %s", ns, got, want)
		}
	}
}

// TestKeysThatAFaultRemoved: an eviction in several steps is told as one, with the keys of all.
func TestKeysThatAFaultRemoved(t *testing.T) {
	w := history.Window{Effects: []history.Effect{{What: history.Evicted, Lost: []string{"a"}}, {What: history.Evicted, Lost: []string{"b", "a"}}}}
	if got := new(narrator).effects(&w); !strings.Contains(got, `evicted "a" and 1 more`) {
		t.Errorf("effects are told as %s", got)
	}
}

// TestTakeovers: one that came before the story is not told at a time below zero.
func TestTakeovers(t *testing.T) {
	for at, want := range map[int64]string{second: ": node 3 had taken over 2000 ms before", 4 * second: ": node 3 took over at 1000 ms"} {
		w := history.Window{Effects: []history.Effect{{Node: 2, At: at, What: history.Promoted}}}
		if got := (&narrator{base: 3 * second}).effects(&w); got != want {
			t.Errorf("told as %q, want %q", got, want)
		}
	}
}

// TestAReleaseWithoutAReplyIsTold: its client was told nothing.
func TestAReleaseWithoutAReplyIsTold(t *testing.T) {
	v := &checker.Violation{Property: verdicts.ReleaseSafety, Cause: verdicts.MisUnlock, Key: "job", At: 10, Clients: []string{"c3", "c1"}}
	v.Witness.Operations = []history.Operation{{ID: 1, Client: "c1", Op: history.Release, Outcome: history.Unknown, Call: 10}}
	v.Witness.Holds = []checker.Hold{{Client: "c3"}}
	if got, want := (&narrator{v: v}).misanswered(), `the release of "job" by c1 ended the hold of c3`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRenewalsAreTold: whether what a client renewed had ended, ended by other replies alone, or
// was another's.
func TestRenewalsAreTold(t *testing.T) {
	extend := history.Operation{Client: "c1", Op: history.Extend, Outcome: history.OK, Call: 10}
	for _, row := range []struct {
		clients []string
		until   int64 // by which the server may have kept the client's hold
		says    string
	}{
		{[]string{"c1"}, 5, `c1 was told that it had renewed its hold on "job", which had ended`},
		{[]string{"c1"}, 20, `c1 was told that it had renewed its hold on "job", though by the other replies that had ended`},
		{[]string{"c2", "c1"}, 20, `the renewal of "job" by c1 changed the hold of c2`},
	} {
		v := &checker.Violation{Key: "job", At: extend.Call, Clients: row.clients}
		v.Witness.Operations = []history.Operation{extend}
		v.Witness.Holds = []checker.Hold{{Client: "c1", Possible: checker.Span{To: row.until}}, {Client: "c2"}}
		if got := (&narrator{v: v}).misanswered(); got != row.says {
			t.Errorf("%v: %s, want %s", row.clients, got, row.says)
		}
	}
}

// TestTheWrongClockIsTold: a story by whose cause a clock was wrong has room for that, and others
// may not.
func TestTheWrongClockIsTold(t *testing.T) {
	for _, cause := range []verdicts.Cause{verdicts.ClockSkew, verdicts.LeaseOverrun} {
		n := &narrator{v: &checker.Violation{Cause: cause}, around: &checker.Surroundings{
			Faults: []history.Window{{Fault: "drift-clock", Does: history.MovesClock, Confirmed: true}}}}
		n.sayFaults()
		if want := cause == verdicts.ClockSkew; len(n.events) != 1 || n.events[0].needed != want {
			t.Errorf("%s: told as %v, want it needed: %v", cause, n.events, want)
		}
	}
}
