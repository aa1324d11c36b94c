package explain_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

var update = flag.Bool("update", false, "write the golden stories anew")

// judged checks a case as a whole and prints what it finds.
func judged(t *testing.T, s *story, rec explain.Record) *checker.Verdict {
	t.Helper()
	v, err := checker.Check(t.Context(), checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands, Faults: rec.Faults}, checker.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if _, err := sim.Explain(t.Context(), v, rec); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestStories compares the stories and drawings of some cases with the golden file: of the first violation of the property that the case is about.
func TestStories(t *testing.T) {
	told := []string{"mis-unlock/set-nx-ex-pause", "mis-unlock/set-nx-ex-damage", "mis-unlock/heartbeat-of-another", "lease-overrun/token-pause",
		"double-grant/exists-set", "reader-evicted/rw-hash", "stale-reentry/reentrant-local", "failover-loss/token-pair", "restart-loss/redlock-node-restarts-empty",
		"clock-jump/token", "no-expiry/setnx-crash", "lost-wakeup/redisson", "orphan/token-session-lost-release", "orphan/kept-by-others-renewals",
		"quorum-erosion/half", "unknown/no-commands", "unknown/requests-that-fail", "mis-unlock/no-commands", "resurrection/set-on-extend", "resurrection/set-nx-on-extend",
		"resurrection/after-release", "failover-loss/fence-reset", "fence-reused/fence-counted-apart", "lease-overrun/written-behind-anothers-hold",
		"stale-reentry/two-deep", "renewal-gap/failed-renewal-ignored",
		"reader-evicted/rw-pair-stalled-reader"}
	var got strings.Builder
	for _, s := range corpus(t) {
		if !slices.Contains(told, s.name) {
			continue
		}
		v := judged(t, s, s.recorded())
		if len(v.Violations) == 0 {
			t.Errorf("%s: nothing is found", s.name)
			continue
		}
		x := v.Violations[max(0, slices.IndexFunc(v.Violations, func(x checker.Violation) bool { return x.Property == s.violations[0].Property }))]
		fmt.Fprintf(&got, "== %s\n%s\n\n%s\n\n", s.name, strings.Join(x.Story, "\n"), strings.Join(x.Lanes, "\n"))
	}
	const path = "testdata/stories.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestStoriesAreShort: every story has five to thirteen lines that fit two lines of a terminal, and every drawing fits 80 columns. The headline has the
// cause, and the last line the evidence for it.
func TestStoriesAreShort(t *testing.T) {
	stories := 0
	for _, s := range corpus(t) {
		for _, v := range judged(t, s, s.recorded()).Violations {
			stories++
			where := fmt.Sprintf("%s: %s at %d", s.name, v.Property, v.At)
			if n := len(v.Story); n < 5 || n > 13 {
				t.Fatalf("%s: a story of %d lines:\n%s", where, n, strings.Join(v.Story, "\n"))
			}
			if !strings.HasSuffix(v.Story[0], "("+string(v.Cause)+")") {
				t.Errorf("%s: %s: the headline is %q", where, v.Cause, v.Story[0])
			}
			if last := v.Story[len(v.Story)-1]; (v.Cause == verdicts.CauseUnknown) != strings.HasPrefix(last, "the cause is not known") {
				t.Errorf("%s: %s: the story ends with %q", where, v.Cause, last)
			}
			for _, line := range v.Story {
				if n := len(report.Wrap(80, "    ", line)); n > 2 {
					t.Errorf("%s: %d lines: %s", where, n, line)
				}
			}
			for _, line := range v.Lanes[:max(0, len(v.Lanes)-1)] {
				if n := utf8.RuneCountInString(line); n > 80 {
					t.Errorf("%s: drawing of %d columns: %s", where, n, line)
				}
			}
		}
	}
	if stories < 150 {
		t.Errorf("%d stories", stories)
	}
}

// TestOneOrder: a story has the order of the server, also where the replies came in another.
func TestOneOrder(t *testing.T) {
	s := parsed(t, `
		lock two mutex 300 turns
		c1 acquire 0-9 ok valid=300 : SET job a PX 300 -> OK @1-3
		c2 acquire 0-5 ok valid=300 : SET job b PX 300 -> OK @3-5
		c3 acquire 20-21 busy : SET job c PX 300 NX -> (nil)
		violation mutual-exclusion 9-300 c2 c1 = double-grant`)
	v := judged(t, s, s.recorded())
	if len(v.Violations) == 0 {
		t.Fatal("nothing is found")
	}
	want := []string{`mutual-exclusion broken: c2 and c1 both held "job" for 291 ms (double-grant)`,
		"times count from 0.002 s into the run",
		`c1 was granted "job" at 0 ms with SET job a PX 300 -> OK (lease 300 ms)`,
		`c2 was granted "job" at 2 ms with SET job b PX 300 -> OK (lease 300 ms)`,
		`at 7 ms c2 believed it held "job" too, until 298 ms`,
		"c2's SET at 2 ms would have been granted even right after c1's grant at 0 ms: it does not check for that hold"}
	if diff := cmp.Diff(want, v.Violations[0].Story); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWrongWrites: the headline says what is wrong with a write.
func TestWrongWrites(t *testing.T) {
	for _, row := range []struct{ writes, says string }{
		{`c1 write 500-501 ok fence=1 read=8 wrote=9`, `the data guarded by "job" was written with fence 1 by c1, after it had been written with fence 2`},
		{`c1 write 500-501 ok read=8 wrote=9`, `c1 wrote to the data guarded by "job" after its hold had ended and c2 had written under a later one`},
		{`c2 write 420-421 ok fence=2 read=7 wrote=9`, `c2 overwrote data guarded by "job" without having read what c2 had written`},
	} {
		s := parsed(t, `
			lock mutex 300
			c1 acquire 0-1 ok tok=a valid=300 fence=1
			c2 acquire 400-401 ok tok=b valid=700 fence=2
			c2 write 410-411 ok fence=2 read=7 wrote=8
			`+row.writes)
		v := judged(t, s, s.recorded())
		at := slices.IndexFunc(v.Violations, func(x checker.Violation) bool { return x.Property == verdicts.StoreIntegrity })
		if at < 0 {
			t.Errorf("%s: nothing is found", row.writes)
		} else if said := v.Violations[at].Story[0]; !strings.Contains(said, row.says) {
			t.Errorf("%s: %s, want %s", row.writes, said, row.says)
		}
	}
}

// TestRequestsInVain: where nothing shows why a client waited, the story says what became of its requests.
func TestRequestsInVain(t *testing.T) {
	for _, row := range []struct{ sent, says string }{
		// No server answers.
		{"n0:SET job b NX PX 300 -> ? @501-2600 | n1:SET job b NX PX 300 -> ? @501-2600 | n0:SET job c NX PX 300 -> ? @2700-4900 | n1:SET job c NX PX 300 -> ? @2700-4900",
			"4 of the 4 requests of c2's acquire got no reply before it gave them up"},
		// Nor accepts a connection.
		{"n0:HELLO 3 -> ? @501-2600 | n1:HELLO 3 -> ? @501-2600 | n0:SET job c NX PX 300 -> ? @2700-4900",
			"3 of the 3 requests of c2's acquire, with those that open a connection, got no reply before it gave them up"},
		// Both refuse.
		{"n0:SET job b NX PX 300 -> -OOM full @501-2600 | n1:SET job b NX PX 300 -> -OOM full @501-2600 | n0:SET job c NX PX 300 -> -OOM full @2700-4900",
			`3 of the 3 requests of c2's acquire failed, the last with "-OOM full"`},
	} {
		s := parsed(t, `
			lock mutex 300
			c1 acquire 0-2 ok valid=300 : n0:SET job a NX PX 300 -> OK @0-1 | n1:SET job a NX PX 300 -> OK @0-1
			c1 release 10-12 ok : n0:DEL job -> 1 @10-11 | n1:DEL job -> 1 @10-11
			c2 acquire 500-5000 fail : `+row.sent)
		v := judged(t, s, s.recorded())
		at := slices.IndexFunc(v.Violations, func(x checker.Violation) bool { return x.Property == verdicts.Progress })
		if at < 0 {
			t.Errorf("%s: nothing is found", row.sent)
		} else if story := v.Violations[at].Story; !strings.HasSuffix(story[len(story)-1], row.says) {
			t.Errorf("%s: %s, want %s", row.sent, story[len(story)-1], row.says)
		}
	}
}

// TestWhoseHoldARelease ended: the headline of a wrongful release names the client that had what it deleted.
func TestWhoseHoldAReleaseEnded(t *testing.T) {
	for _, row := range []struct{ what, others, says string }{
		// c2 and c3 set the same value: what c1 deletes is theirs.
		{"both", `
			c2 acquire 310-312 ok valid=610 : SET job 1 PX 300 -> OK
			c3 acquire 320-322 ok valid=620 : SET job 1 PX 300 -> OK`, "ended the hold of c3"},
		// c4 had deleted c2's before.
		{"the later", `
			c2 acquire 310-312 ok valid=610 : SET job 1 PX 300 -> OK
			c4 acquire 311-313 ok valid=611 : SET job 1 PX 300 -> OK
			c4 release 314-315 ok : DEL job -> 1
			c3 acquire 316-351 ok valid=620 : SET job 1 PX 300 -> OK @316-317`, "ended the hold of c3"},
	} {
		s := parsed(t, `
			lock mutex 300
			c1 acquire 0-2 ok valid=300 : SET job 1 PX 300 -> OK
			`+row.others+`
			c1 release 350-352 ok : DEL job -> 1`)
		v := judged(t, s, s.recorded())
		at := slices.IndexFunc(v.Violations, func(x checker.Violation) bool {
			return x.Property == verdicts.ReleaseSafety && slices.Contains(x.Clients, "c1")
		})
		if at < 0 {
			t.Errorf("%s: nothing is found", row.what)
			continue
		}
		said := strings.Join(v.Violations[at].Story, "\n")
		if !strings.Contains(v.Violations[at].Story[0], row.says) || !strings.Contains(said, "c3 was granted") || !strings.Contains(said, "which was c3's") {
			t.Errorf("%s: %s, want %s", row.what, said, row.says)
		}
	}
}

// TestStoriesShowWhatMovedTheEnd: the end of a lease that a story names comes from events that it shows, also if those are renewals of which no operation
// tells.
func TestStoriesShowWhatMovedTheEnd(t *testing.T) {
	for _, row := range []struct{ what, run, says string }{
		{"orphan", `
			c2 acquire 0-2 ok valid=100 : SET job b NX PX 100 -> OK
			c2 release 10-12 fail
			c2 background 40-41 : PEXPIRE job 1000 -> 1
			c2 background 900-901 : PEXPIRE job 1000 -> 1
			c2 background 1700-1701 : PEXPIRE job 1000 -> 1
			c1 acquire 20-2500 busy : SET job a NX PX 100 -> (nil) @20-21 | SET job a NX PX 100 -> (nil) @1200-1201 | SET job a NX PX 100 -> (nil) @2400-2401
			violation progress 102-2500 c1 = orphan`,
			`c2 moved the end of "job" 3 times, in the background, from 40 ms to 1700 ms, the last time with PEXPIRE job 1000 -> 1`},
		{"the end of a lease", `
			c1 acquire 0-2 ok valid=900 : SET job a NX PX 100 -> OK
			c1 background 40-41 : PEXPIRE job 300 -> 1
			c2 acquire 345-347 ok valid=445 : SET job b NX PX 100 -> OK
			c1 release 800-802 not_held
			violation mutual-exclusion 347-445 c1 c2 = renewal-gap`,
			`at 40 ms c1 sent, in the background, PEXPIRE job 300 -> 1: it renewed "job", which was its own`},
	} {
		s := parsed(t, "lock raw mutex 100 turns\n"+row.run)
		v := judged(t, s, s.recorded())
		at := slices.IndexFunc(v.Violations, func(x checker.Violation) bool { return x.Property == s.violations[0].Property })
		if at < 0 {
			t.Errorf("%s: nothing is found", row.what)
		} else if x := v.Violations[at]; x.Cause != s.want[0] || !slices.Contains(x.Story, row.says) {
			t.Errorf("%s: %s, want %s: %s", row.what, strings.Join(x.Story, "\n"), s.want[0], row.says)
		}
	}
}

// TestStoriesPrintWhatWasRecorded: names and arguments that would move a terminal's cursor are escaped.
func TestStoriesPrintWhatWasRecorded(t *testing.T) {
	s := parsed(t, `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c2 acquire 310-312 ok valid=610 : SET job b NX PX 300 -> OK
		c1 release 350-352 ok : DEL job -> 1
		c3 acquire 360-362 ok valid=660 : SET job c NX PX 300 -> OK
		violation mutual-exclusion 362-610 c2 c3 = mis-unlock`)
	evil := "\x1b[2J\u202e" + strings.Repeat("long", 20)
	for i := range s.Ops {
		s.Ops[i].Client += evil
		s.Ops[i].Key += evil
	}
	for i := range s.Commands {
		s.Commands[i].Client += evil
		s.Commands[i].Args[0] += evil
	}
	v := judged(t, s, s.Record)
	if len(v.Violations) == 0 || v.Violations[0].Cause != verdicts.MisUnlock {
		t.Fatalf("%+v", v.Violations)
	}
	for _, x := range v.Violations {
		for _, line := range slices.Concat(x.Story, x.Lanes) {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", line)
			}
		}
		for _, line := range x.Lanes {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("drawing of %d columns: %s", n, line)
			}
		}
	}
}

// TestHoldsWithoutLeases: the overlap of two holds that never end has no end, and is drawn up to the end of the record.
func TestHoldsWithoutLeases(t *testing.T) {
	s := parsed(t, `
		lock mutex 0
		c1 acquire 0-2 ok
		c2 acquire 10-12 ok
		c1 use 12-20
		violation mutual-exclusion 12-12 c1 c2 = unknown`)
	v := judged(t, s, s.Record)
	if len(v.Violations) == 0 {
		t.Fatal("nothing is found")
	}
	x := v.Violations[0]
	if want := `mutual-exclusion broken: c1 and c2 both held "job" with no end (unknown)`; x.Story[0] != want {
		t.Errorf("%s, want %s", x.Story[0], want)
	}
	if len(x.Lanes) == 0 || !strings.Contains(x.Lanes[0], "19 ms") {
		t.Errorf("%q", x.Lanes)
	}
}
