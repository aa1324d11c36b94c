package checker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// row is a small history and the properties that must be found broken in it, as "property×count"; all others must hold or not apply.
// Linearizability is not listed.
type row struct {
	name  string
	rule  string // the rule that finds it: without it the row must fail
	head  history.Header
	ops   string
	opt   Options
	extra Input // commands and faults
	want  string
	// unordered: no execution exists, and no single rule is to blame.
	unordered bool
}

const msec = 1_000_000

var (
	forever = history.Header{Kind: history.Mutex}
	leased  = history.Header{Kind: history.Mutex, Lease: 100 * msec}
)

func broken(v *Verdict) string {
	var out []string
	for _, p := range v.Properties {
		if p.Verdict == Fail && p.Name != verdicts.Linearizability {
			out = append(out, fmt.Sprintf("%s×%d", p.Name, p.Violations))
		}
	}
	return strings.Join(out, " ")
}

// failing lists the properties that a verdict says are broken, but progress: records made of a few operations pause for long.
func failing(v *Verdict) string {
	var out []string
	for _, p := range v.Properties {
		if p.Verdict == Fail && p.Name != verdicts.Progress {
			out = append(out, string(p.Name))
		}
	}
	return strings.Join(out, " ")
}

func (r row) check(t *testing.T, off ...string) *Verdict {
	t.Helper()
	in := r.extra
	in.Header = r.head
	r.opt.without = map[string]bool{}
	for _, rule := range off {
		r.opt.without[rule] = true
	}
	return verdictOf(t, in, parse(t, r.ops), r.opt)
}

func TestProperties(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			v := r.check(t)
			if got := broken(v); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			if p := v.property(verdicts.Linearizability); r.unordered && p.Verdict != Fail {
				t.Errorf("an execution is found: %+v", p)
			}
			for _, violation := range v.Violations {
				if len(violation.Witness.All()) == 0 {
					t.Errorf("%s has no operations", violation.Property)
				}
			}
		})
	}
}

// TestEveryRuleIsNeeded switches each rule off in turn: the histories that need it must then be judged differently.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, r := range rows() {
		if r.rule == "" {
			continue
		}
		t.Run(r.rule+"/"+r.name, func(t *testing.T) {
			if got := broken(r.check(t, "executions", r.rule)); got == broken(r.check(t, "executions")) {
				t.Errorf("without the rule %s it is %q all the same", r.rule, got)
			}
		})
	}
}

func TestBrokenAssumptions(t *testing.T) {
	rows := []struct{ name, ops, want string }{
		{"return before call", "a acquire 5 4 ok", "operation 1: return 4000000 is before call 5000000: broken assumption about the record"},
		{"two operations of one client at once", "a acquire 0 5 ok\na release 4 6 ok",
			`operation 2: client "a" calls release at 4000000 while its operation of line 2 on the same key is not over before 5000000; one client does one thing at a time: broken assumption about the record`},
		{"a token twice", "a acquire 0 1 ok token=x\na release 2 3 ok\nb acquire 4 5 ok token=x",
			`operation 3: token "x" is granted a second time on key "k"; a token names one grant: broken assumption about the record`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Check(t.Context(), Input{Header: forever, Ops: history.NewSlice(parse(t, r.ops))}, Options{})
			if !errors.Is(err, errAssumption) || err.Error() != r.want {
				t.Errorf("got  %v\nwant %s", err, r.want)
			}
		})
	}
}

func TestAssumptionsOfFilesAreNamedByLine(t *testing.T) {
	text := `{"schema":"lockbench/history/v1","kind":"mutex"}
{"client":"a","op":"acquire","key":"k","call":0,"return":5,"outcome":"ok"}
{"client":"a","op":"extend","key":"k","call":4,"return":6,"outcome":"ok"}
{"client":"a","op":"release","key":"k","call":4,"return":6,"outcome":"ok"}
`
	in, err := history.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Check(t.Context(), Input{Header: in.Header(), Ops: in, File: "a.jsonl"}, Options{})
	var syntax *history.SyntaxError
	if !errors.As(err, &syntax) || syntax.File != "a.jsonl" || syntax.Line != 4 || !errors.Is(err, errAssumption) {
		t.Errorf("%v", err)
	}
}

func TestSpanningOperationsMayOverlapAnything(t *testing.T) {
	v := verdictOf(t, Input{Header: history.Header{Kind: history.Mutex, Lease: 2 * msec}}, parse(t, `
		a acquire 0 1 ok
		a use 1 9
		a write 2 3 ok read=0 wrote=1
		a extend 2 8 ok
		a extend 4 5 ok
		a lost 3 3
		a release 6 7 not_held`), Options{})
	if got := broken(v); got != "" {
		t.Error(got)
	}
}

func TestCancelledCheckSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, Input{Header: forever, Ops: history.NewSlice(nil)}, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEmptyHistoryIsInconclusive(t *testing.T) {
	if v := verdictOf(t, Input{Header: forever}, nil, Options{}); v.Verdict != Inconclusive {
		t.Errorf("%+v", v)
	}
}

func TestStrength(t *testing.T) {
	v := verdictOf(t, Input{Header: forever, Faults: []history.Window{{Fault: "slow-network", Start: 5 * msec, End: 6 * msec, Confirmed: true}}}, parse(t, `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 3 4 ok
		b release 5 6 ok
		a acquire 7 8 ok
		a release 9 10 ok
		a acquire 11 12 ok
		a release 13 14 ok`), Options{})
	p := v.property(verdicts.MutualExclusion)
	if p.Opportunities != 3 || p.Judged != 3 || p.MetFault != 1 || p.Verdict != Pass || v.Verdict != Pass {
		t.Errorf("%+v", p)
	}
}

// TestWhatTestsExclusion: a history without a violation passes only if the lock had an opportunity to break.
func TestWhatTestsExclusion(t *testing.T) {
	again := history.Header{Kind: history.Reentrant}
	for _, row := range []struct {
		name   string
		header history.Header
		text   string
		want   Result
	}{
		{"one client alone", forever, "a acquire 0 1 ok", Inconclusive},
		{"another is refused", forever, "a acquire 0 1 ok\nb acquire 2 3 busy", Inconclusive},
		{"another is granted it", forever, "a acquire 0 1 ok\na release 2 3 ok\nb acquire 4 5 ok", Pass},
		{"the holder enters again", again, "a acquire 0 1 ok token=x\na acquire 2 3 ok token=x", Inconclusive},
		{"readers only", history.Header{Kind: history.RW}, "a acquire 0 1 ok shared\nb acquire 2 3 ok shared", Inconclusive},
		{"no more grants than permits", history.Header{Kind: history.Semaphore, Permits: 2}, "a acquire 0 1 ok\nb acquire 2 3 ok", Inconclusive},
		{"nobody is answered", forever, "a acquire 0 1 unknown\nb acquire 0 1 unknown", Inconclusive},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := verdictOf(t, Input{Header: row.header}, parse(t, row.text), Options{})
			if p := v.property(verdicts.MutualExclusion); p.Verdict != row.want || v.Verdict != row.want {
				t.Errorf("%s: %+v, want %s", v.Verdict, p, row.want)
			}
		})
	}
}
