package results_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/schematest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/verdicts"
)

const ms = int64(time.Millisecond)

func aRun() results.Run {
	return results.Run{ID: "0a1b2c", Argv: []string{"lockbench", "run", "--lock", "set-nx-ex", "--seed", "8341"}, Seed: 8341,
		PlanHash: "f00d", Lock: "set-nx-ex", Scenario: "pause-holder", Server: "process", Phase: results.Started,
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func aVerdict() checker.Verdict {
	first := &checker.Violation{Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock, At: 12_418_000_000,
		Clients: []string{"c7", "c3"}, Key: "job", Story: []string{"c7 held"}}
	return checker.Verdict{Verdict: checker.Fail,
		Properties: []checker.Property{{Name: verdicts.MutualExclusion, Verdict: checker.Fail, Violations: 3, Opportunities: 412,
			Rate: 0.0073, CI95: [2]float64{0.0015, 0.0211}, Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 3}, First: first},
			{Name: verdicts.FencingOrder, Verdict: checker.NotApplicable, Note: "no fences"}},
		Operations: checker.Operations{"acquire": {"ok": 412, "busy": 9120, "unknown": 2}}}
}

func aSet(windows ...history.Window) *latency.Set {
	set := latency.NewSet(windows)
	set.Add(latency.Acquire, 0, 1*ms, 3*ms)
	set.Add(latency.Acquire, 100*ms, 100*ms, 2100*ms)
	set.Add(latency.Acquire, 0, 0, latency.Highest+1)
	return set
}

// TestResultFitsItsSchema: every possible result fits the published schema, which lists every field
// written.
func TestResultFitsItsSchema(t *testing.T) {
	full := results.NewResult(aRun(), aVerdict())
	full.SetLatency(aSet(history.Window{Start: 50 * ms, End: 500 * ms, Confirmed: true}), "")
	full.Damage = &checker.Damage{LostUpdates: 2, Expected: 100, Final: 98, Missing: 2}
	full.Wait = &latency.Wait{Acquires: 2}
	full.Notes = []string{"a note"}
	empty := results.NewResult(aRun(), checker.Verdict{Verdict: checker.Inconclusive})
	empty.SetLatency(&latency.Set{}, "")
	virtual := results.NewResult(aRun(), aVerdict())
	virtual.SetLatency(nil, results.NoLatency)
	nan := aVerdict()
	nan.Properties[0].Rate, nan.Properties[0].CI95 = math.NaN(), [2]float64{math.NaN(), math.Inf(1)}
	for _, tt := range []struct {
		name   string
		result results.Result
		has    string
	}{
		{"everything set", full, `"p99.9":`},
		{"nothing was recorded", empty, `"latency": {},`},
		{"no figures from virtual time", virtual, `"latency_absent": "virtual time: no latency figures"`},
		{"a rate over nothing", results.NewResult(aRun(), nan), `"rate": 0,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := json.MarshalIndent(tt.result, "", " ")
			must(t, err)
			for _, problem := range schematest.Check(t, "schema/result.schema.json", data) {
				t.Error(problem)
			}
			if !strings.Contains(string(data), tt.has) {
				t.Errorf("no %s in\n%s", tt.has, data)
			}
		})
	}
	if !math.IsNaN(nan.Properties[0].Rate) {
		t.Error("the verdict was changed")
	}
}

// TestSchemaCanFail checks that the schema of the test above refuses something.
func TestSchemaCanFail(t *testing.T) {
	good, err := json.Marshal(results.NewResult(aRun(), aVerdict()))
	must(t, err)
	for old, broken := range map[string]string{
		`"verdict":"fail"`: `"verdict":false`, `"seed":8341`: `"seed":"8341"`, `"rate":0.0073`: `"rate":null`,
		`"histogram_dropped"`: `"dropped"`, `"violations":3`: `"violations":-3`, `"rerun"`: `"again"`,
	} {
		doc := strings.Replace(string(good), old, broken, 1)
		if doc == string(good) {
			t.Errorf("no %s to break", old)
		}
		if errs := schematest.Check(t, "schema/result.schema.json", []byte(doc)); len(errs) == 0 {
			t.Errorf("%s was accepted", broken)
		}
	}
}

func TestLatencyFigures(t *testing.T) {
	r := results.NewResult(aRun(), aVerdict())
	r.SetLatency(aSet(history.Window{Start: 50 * ms, End: 500 * ms, Confirmed: true}), "")
	acquire := r.Latency[latency.Acquire]
	near := func(what string, got, want int64) {
		t.Helper()
		if math.Abs(float64(got-want)) > float64(want)/500 {
			t.Errorf("%s = %d, want %d", what, got, want)
		}
	}
	near("response max", acquire.Response.Max, 2000*ms)
	near("response p50, two samples", acquire.Response.P50, 3*ms)
	near("outside, from the intended start", acquire.Outside.Response.Max, 3*ms)
	near("outside, from the call", acquire.Outside.Service.Max, 2*ms)
	near("inside", acquire.Inside.Response.P50, 2000*ms)
	if acquire.Response.Count != 2 || acquire.Outside.Response.Count != 1 || acquire.Inside.Response.Count != 1 {
		t.Errorf("counts: %+v", acquire)
	}
	if r.Health.Dropped != 1 {
		t.Errorf("dropped %d, want 1", r.Health.Dropped)
	}
	r.SetLatency(aSet(), "")
	if one := r.Latency[latency.Acquire]; one.Outside != nil || one.Inside != nil {
		t.Error("a run without fault windows is split")
	}
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want string
	}{
		{"nothing secret", "--lock", "--lock"},
		{"no credentials", "redis://127.0.0.1:6379", "redis://127.0.0.1:6379"},
		{"user and password", "redis://me:secret@h:1/2", "redis://me:REDACTED@h:1/2"},
		{"password alone", "redis://:secret@h:1", "redis://:REDACTED@h:1"},
		{"within a flag", "--server=redis://:secret@h:1,rediss://u:secret@h:2", "--server=redis://:REDACTED@h:1,rediss://u:REDACTED@h:2"},
		{"as a parameter", "redis://h:1?password=secret", "redis://h:1?password=REDACTED"},
		{"that does not parse", "redis://u:sec%ret@h:1", "REDACTED"},
		{"with an @ in it", "redis://u:sec@ret@h:1", "redis://u:REDACTED@h:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := results.Redact([]string{tt.in})[0]; got != tt.want {
				t.Errorf("Redact(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
	r := aRun()
	r.Argv = slices.Concat(r.Argv, []string{"--server", "redis://:secret@h:1"})
	if got := results.NewResult(r, aVerdict()).Rerun; strings.Contains(got, "secret") {
		t.Errorf("rerun says %s", got)
	}
}

func TestCommandLineIsReadBackByAShell(t *testing.T) {
	argv := []string{"lockbench", "run", "--set", "note=it's $5", "", "a*b"}
	want := `lockbench run --set 'note=it'\''s $5' '' 'a*b'`
	if got := results.CommandLine(argv); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAMissedRateMakesARunInconclusive: less than 90 % of the offered rate, in a run without
// faults.
func TestAMissedRateMakesARunInconclusive(t *testing.T) {
	missed := results.Throughput{Open: true, Offered: 400, Achieved: 100}
	if got, want := missed.RateReason(nil), "100 of the 400 offered rounds per second were achieved: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := missed.RateReason([]history.Window{{Confirmed: true}}); got != "" {
		t.Errorf("with a fault: %q", got)
	}
	if got := (results.Throughput{Open: true, Offered: 400, Achieved: 360}).RateReason(nil); got != "" {
		t.Errorf("90 %%: %q", got)
	}
}
