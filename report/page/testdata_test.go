package page

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/verdicts"
)

const ms = int64(time.Millisecond)

// hostile is a name that does harm if it is printed raw.
const hostile = "evil\x1b[2J</script><script>document.title='pwned'</script><img src=http://192.0.2.1/x onerror=alert(1)>\u202e\n'\"`"

// aRun returns the directory of a run of several clients with a fault and a violation. Names begin
// with prefix.
func aRun(t testing.TB, prefix string, rounds int) *results.Dir {
	t.Helper()
	d, err := results.Create(t.TempDir(), results.Name(time.Unix(1e9, 0), "abcdef", "pause-holder", "set-nx-ex"), false)
	must(t, err)
	rnd := rand.New(rand.NewPCG(1, 2))
	header := history.Header{Lock: prefix + "set-nx-ex", Kind: history.Mutex, Lease: 300 * ms, Permits: 1}
	var ops []history.Operation
	var commands []history.Command
	at := 10 * ms
	key := prefix + "job"
	for i := range rounds {
		c := fmt.Sprintf("%sc%d", prefix, i%5+1)
		token := fmt.Sprintf("%st%d", prefix, i)
		wait, hold := ms+rnd.Int64N(20*ms), 5*ms+rnd.Int64N(10*ms)
		add := func(op history.Operation) {
			op.ID, op.Client, op.Key = uint64(len(ops)+1), c, key
			ops = append(ops, op)
		}
		if i == rounds/2 { // stays inside beyond its lease
			hold = 400 * ms
		}
		add(history.Operation{Op: history.Acquire, Call: at, Return: at + wait, Outcome: history.OK, Token: token, Fence: uint64(i + 1)})
		commands = append(commands, history.Command{Client: c, Node: 0, Sent: at + wait - ms, Replied: at + wait - ms/2, Name: "SET", Args: []string{key, token, "NX", "PX", "300"}, Reply: "OK"})
		if i%7 == 3 {
			add(history.Operation{Op: history.Extend, Call: at + wait + ms, Return: at + wait + 2*ms, Outcome: history.OK, Token: token})
		}
		add(history.Operation{Op: history.Use, Call: at + wait + ms/10, Return: at + wait + hold - ms/10})
		add(history.Operation{Op: history.Release, Call: at + wait + hold, Return: at + wait + hold + ms, Outcome: history.OK, Token: token})
		commands = append(commands, history.Command{Client: c, Node: 0, Sent: at + wait + hold, Replied: at + wait + hold + ms/2, Name: "EVALSHA", Args: []string{"release.lua", "1", key, token}, Reply: "1"})
		at += wait + hold/2
	}
	begun := ops[len(ops)/2].Call
	windows := []history.Window{{Fault: "pause-client", Client: prefix + "c1", Node: -1, Start: begun, End: begun + 300*ms, Confirmed: true, Moment: prefix + "after its grant"},
		{Fault: "kill-server", Node: 2, Start: begun + 100*ms, End: begun + 200*ms, Confirmed: true}}
	must(t, d.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, header, ops) }))
	must(t, d.SaveFunc(results.CommandsFile, func(w io.Writer) error { return history.WriteCommands(w, commands, nil) }))
	must(t, d.SaveFunc(results.FaultsFile, func(w io.Writer) error { return history.WriteWindows(w, windows) }))
	set := latency.NewSet(windows)
	for _, op := range ops {
		if op.Op == history.Acquire || op.Op == history.Release {
			set.Add(op.Op.String(), op.Call, op.Call, op.Return)
		}
	}
	must(t, d.SaveFunc(results.LatencyLog, func(w io.Writer) error { return set.WriteLog(w, time.Unix(1e9, 0), time.Unix(1e9+10, 0)) }))
	run := results.Run{ID: "abcdef", Argv: []string{"lockbench", "run", "--lock", prefix + "set-nx-ex"}, Lock: prefix + "set-nx-ex", Scenario: prefix + "pause-holder", Server: prefix + "process",
		Phase: results.Checked, Start: time.Unix(1e9, 0), Duration: 10 * time.Second, Environment: results.Environment{CPU: prefix + "cpu", CPUs: 2, Git: prefix + "0123abcd"}}
	must(t, d.SaveRun(run))
	first := &checker.Violation{Property: verdicts.ExclusiveUse, Cause: verdicts.LeaseOverrun, At: begun + 40*ms, Clients: []string{prefix + "c1", prefix + "c2"}, Key: key,
		Story: []string{prefix + "c1 was granted the lock", "c1 continued after the end of its lease"}, Lanes: []string{prefix + "c1 [===]"}}
	r := results.NewResult(run, checker.Verdict{Verdict: checker.Fail, Operations: checker.Operations{"acquire": {"ok": rounds, "unknown": 1}},
		Properties: []checker.Property{{Name: verdicts.ExclusiveUse, Verdict: checker.Fail, Violations: 1, Opportunities: rounds, Causes: map[verdicts.Cause]int{verdicts.LeaseOverrun: 1}, First: first},
			{Name: verdicts.MutualExclusion, Verdict: checker.Pass, Opportunities: rounds}, {Name: verdicts.FencingOrder, Verdict: checker.NotApplicable, Note: prefix + "no fences"}}})
	r.SetLatency(set, "")
	r.Wait, r.Notes = &latency.Wait{Acquires: 3, BehindHolder: 80 * ms, RoundTrips: 15 * ms, RetrySleep: 5 * ms}, []string{prefix + "a note"}
	r.Load = results.Throughput{Clients: 5, Achieved: 40, Duration: 10 * time.Second}
	must(t, d.SaveResult(r))
	must(t, d.Save(results.ScenarioFile, []byte("name: "+prefix+"pause-holder\n")))
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds wants some texts on a page.
func holds(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

// aSuite is a suite with a cell of every mark. Names begin with prefix.
func aSuite(prefix string) results.Suite {
	s := results.Suite{Server: prefix + "sim", Seed: 7, Start: time.Unix(1e9, 0), Notes: []string{prefix + "a note"}, Rerun: "lockbench suite " + prefix}
	verdicts := []checker.Result{checker.Pass, checker.Pass, checker.Fail, checker.Inconclusive, checker.NotApplicable}
	for l := range 8 {
		for n := range 43 {
			v := verdicts[(l*n)%5]
			observed := map[bool]string{true: "safe", false: "mutual-exclusion/mis-unlock"}[n%3 == 0]
			s.Cells = append(s.Cells, results.Cell{Lock: fmt.Sprintf("%slock-%d-normalised", prefix, l), Scenario: fmt.Sprintf("%sscenario-of-some-length-%d", prefix, n),
				Expected: "safe (store-integrity/mis-unlock)", Observed: observed, Verdict: v, Why: prefix + "not expected: mutual-exclusion/mis-unlock", Rerun: "lockbench run"})
		}
	}
	s.Cells = append(s.Cells, results.Cell{Lock: prefix + "bug", Scenario: "steady", Planted: true, Verdict: checker.Pass, Observed: "mutual-exclusion/mis-unlock"})
	s.Baseline, s.Changes = prefix+"base.json", aComparison(prefix).Changes
	s.Judge()
	return s
}

// aBench is a bench of several locks with and without enough samples.
func aBench(prefix string) results.Bench {
	b := results.Bench{Schema: results.BenchSchema, Verdict: checker.Fail, Server: prefix + "process", Seed: 3, Start: time.Unix(1e9, 0), Duration: 2 * time.Minute,
		Plan: results.BenchPlan{Locks: []string{"token", "fair"}, Repetitions: 5, Measure: 2 * time.Second}, Notes: []string{prefix + "a note"}, Rerun: "lockbench bench " + prefix}
	f := func(unit results.Unit, v float64, ci bool) results.Figure {
		out := results.Figure{Unit: unit, Value: &v, Samples: 1000}
		if ci {
			low, high := v*.93, v*1.06
			out.Low, out.High, out.Ratio = &low, &high, &results.Ratio{Value: 1.2, Differs: v > 1000}
		}
		return out
	}
	for _, clients := range []int{1, 8, 32} {
		for i, lock := range []string{"bare-loop", prefix + "token", "watchdog-timer-normalised", "fair", "rueidislock"} {
			c := results.BenchCell{Lock: lock, Reference: i == 0, Verdict: checker.Pass, Setting: results.BenchSetting{Clients: clients, Keys: 1},
				Figures: map[string]results.Figure{"throughput": f(results.PerSecond, 9000/float64(i+1)*float64(clients), true), "acquire.p50": f(results.Nanoseconds, 1e5*float64(clients*(i+1)), true),
					"acquire.p99": f(results.Nanoseconds, 4e5*float64(clients*(i+1)), i != 2), "hand-over.trips.p50": f(results.RoundTrips, 1.2+float64(i), true), "requests": f(results.PerHold, 2, false),
					"jain": f(results.Number, .98, true), "acquire.p99.9": {Unit: results.Nanoseconds, Samples: 12, Need: 1000}, "errors": f(results.Share, 0, false)}}
			if i == 3 {
				c.Verdict, c.Breaks = checker.Fail, []results.BenchBreak{{Property: verdicts.MutualExclusion, Violations: 3}}
			}
			b.Cells = append(b.Cells, c)
		}
	}
	b.Gates = []results.GateResult{{Gate: "acquire.p99 <= 20ms", Lock: "token", Verdict: checker.Fail, Value: b.Cells[0].Figures["acquire.p99"].Value, Unit: results.Nanoseconds}}
	base := aComparison(prefix)
	b.Baseline = &base
	b.Knees = []results.Knee{{Lock: "token", Setting: b.Cells[0].Setting, Limit: "acquire.p99 <= 20ms", Rate: f(results.PerSecond, 4000, true)}}
	return b
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
