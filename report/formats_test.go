package report_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

func aRun() results.Run {
	return results.Run{Lock: "set-nx-ex", Scenario: "pause-holder", Server: "process", Seed: 8341, Duration: 20 * time.Second,
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Argv: []string{"lockbench", "run"}}
}

// TestWorkloadIsNamed: a workload that replaced the scenario's stands behind the scenario in every
// form for tools.
func TestWorkloadIsNamed(t *testing.T) {
	run, result := aRun(), failing(5)
	run.Workload, result.Workload = "hot", "hot"
	for form, write := range map[string]func(*strings.Builder) error{
		"junit": func(b *strings.Builder) error { return report.RunJUnit(b, run, &result) },
		"csv":   func(b *strings.Builder) error { return report.RunCSV(b, result) },
		"gha":   func(b *strings.Builder) error { return report.GitHubBenchmark(b, report.RunMeasures(result)) },
	} {
		got := strings.ReplaceAll(text(t, write), "%2C", ",")
		if !strings.Contains(got, "pause-holder, workload hot") {
			t.Errorf("%s does not name the workload:\n%s", form, got)
		}
	}
}

// outcome is how a JUnit viewer shows a case.
type outcome struct{ failed, errored, skipped bool }

// junitCases reads the cases back by "suite: name", and checks that the counts are those of the
// cases.
func junitCases(t *testing.T, text string) map[string]outcome {
	t.Helper()
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct{} `xml:"skipped"`
	}
	var root struct {
		Tests, Failures, Errors, Skipped int
		Counts                           []xml.Attr `xml:",any,attr"`
		Suites                           []struct {
			Name  string     `xml:"name,attr"`
			Cases []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out, n := map[string]outcome{}, map[string]int{}
	for _, s := range root.Suites {
		for _, c := range s.Cases {
			one := outcome{c.Failure != nil, c.Error != nil, c.Skipped != nil}
			out[s.Name+": "+c.Name] = one
			n["tests"]++
			for name, is := range map[string]bool{"failures": one.failed, "errors": one.errored, "skipped": one.skipped} {
				if is {
					n[name]++
				}
			}
		}
	}
	for _, a := range root.Counts {
		var said int
		if err := json.Unmarshal([]byte(a.Value), &said); err == nil && a.Name.Local != "time" && said != n[a.Name.Local] {
			t.Errorf("says %d %s, has %d", said, a.Name.Local, n[a.Name.Local])
		}
	}
	return out
}

// TestJUnitOfACell: a case fails if it differs from the expectation, and is skipped if it was not
// judged.
func TestJUnitOfACell(t *testing.T) {
	const me, si = verdicts.MutualExclusion, verdicts.StoreIntegrity
	props := func(a, b checker.Result) map[verdicts.Property]checker.Result {
		return map[verdicts.Property]checker.Result{me: a, si: b}
	}
	pass, fail, skip := outcome{}, outcome{failed: true}, outcome{skipped: true}
	for _, tt := range []struct {
		name string
		cell results.Cell
		want map[string]outcome
	}{
		{"holds as expected", results.Cell{Expected: "safe", Observed: "safe", Verdict: checker.Pass, Properties: props(checker.Pass, checker.NotApplicable)},
			map[string]outcome{"mutual-exclusion": pass, "store-integrity": skip}},
		{"breaks as expected", results.Cell{Expected: "mutual-exclusion/mis-unlock", Observed: "mutual-exclusion/mis-unlock", Verdict: checker.Pass,
			Properties: props(checker.Fail, checker.Pass)}, map[string]outcome{"mutual-exclusion": pass, "store-integrity": pass}},
		{"breaks as expected and as optional", results.Cell{Expected: "mutual-exclusion (store-integrity/mis-unlock)", Observed: "mutual-exclusion/x store-integrity/mis-unlock",
			Verdict: checker.Pass, Properties: props(checker.Fail, checker.Fail)}, map[string]outcome{"mutual-exclusion": pass, "store-integrity": pass}},
		{"breaks for another cause", results.Cell{Expected: "mutual-exclusion/mis-unlock", Observed: "mutual-exclusion/orphan", Verdict: checker.Fail,
			Properties: props(checker.Fail, checker.Pass)}, map[string]outcome{"mutual-exclusion": fail, "store-integrity": pass}},
		{"holds against the expectation", results.Cell{Expected: "store-integrity/mis-unlock", Observed: "safe", Verdict: checker.Fail,
			Properties: props(checker.Pass, checker.Pass)}, map[string]outcome{"mutual-exclusion": pass, "store-integrity": fail}},
		{"a bug breaks more than it must", results.Cell{Expected: "mutual-exclusion", Observed: "mutual-exclusion/x store-integrity/y", Planted: true,
			Verdict: checker.Pass, Properties: props(checker.Fail, checker.Fail)}, map[string]outcome{"mutual-exclusion": pass, "store-integrity": pass}},
		{"not judged", results.Cell{Expected: "safe", Observed: "safe", Verdict: checker.Inconclusive, Properties: props(checker.Inconclusive, checker.Pass)},
			map[string]outcome{"mutual-exclusion": skip, "store-integrity": pass}},
		{"the machine stalled", results.Cell{Expected: "safe", Observed: "mutual-exclusion/x", Verdict: checker.Inconclusive, Properties: props(checker.Fail, checker.Pass)},
			map[string]outcome{"mutual-exclusion": pass, "store-integrity": pass, "expectation": skip}},
		{"no verdict", results.Cell{Expected: "safe", Observed: results.NothingObserved, Verdict: checker.Inconclusive}, map[string]outcome{"run": {errored: true}}},
		{"does not apply", results.NACell("l", "s", "no lease"), map[string]outcome{"expectation": skip}},
		{"of a stored suite, which has no properties", results.Cell{Expected: "safe", Observed: "safe", Verdict: checker.Pass}, map[string]outcome{"expectation": pass}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cell.Lock, tt.cell.Scenario = "l", "s"
			got := junitCases(t, text(t, func(b *strings.Builder) error {
				return report.SuiteJUnit(b, results.Suite{Cells: []results.Cell{tt.cell}})
			}))
			if len(got) != len(tt.want) {
				t.Errorf("cases %v, want %v", got, tt.want)
			}
			for name, want := range tt.want {
				if o, ok := got["l × s: "+name]; !ok || o != want {
					t.Errorf("%s: %+v (there: %v), want %+v", name, o, ok, want)
				}
			}
		})
	}
}

// TestJUnitOfARunWithoutAVerdict: neither a pass nor a failure of the lock.
func TestJUnitOfARunWithoutAVerdict(t *testing.T) {
	run := aRun()
	run.Failure = "the disk is full"
	got := junitCases(t, text(t, func(b *strings.Builder) error { return report.RunJUnit(b, run, nil) }))
	if !got["set-nx-ex × pause-holder: run"].errored || len(got) != 1 {
		t.Errorf("%v", got)
	}
	r := results.Result{Verdict: checker.Inconclusive, Lock: "l", Scenario: "s", Notes: []string{"39 of 40 acquires failed"},
		Properties: []checker.Property{{Name: verdicts.MutualExclusion, Verdict: checker.Pass}}}
	out := text(t, func(b *strings.Builder) error { return report.RunJUnit(b, aRun(), &r) })
	if got := junitCases(t, out); !got["set-nx-ex × pause-holder: run"].skipped || !strings.Contains(out, "39 of 40 acquires failed") {
		t.Errorf("%v\n%s", got, out)
	}
}

// TestEveryNameIsExplained: a page explains each property and each cause where it shows it.
func TestEveryNameIsExplained(t *testing.T) {
	for _, p := range verdicts.Properties() {
		if report.PropertyAbout(p) == "" {
			t.Errorf("the property %s is not explained", p)
		}
	}
	for _, c := range verdicts.Causes() {
		if c != verdicts.CauseUnknown && report.CauseAbout(c) == "" {
			t.Errorf("the cause %s is not explained", c)
		}
	}
}

// TestSentencesSayWhatBroke: whatever property broke, the first sentence of a run says in plain
// words what happened.
func TestSentencesSayWhatBroke(t *testing.T) {
	for _, p := range verdicts.Properties() {
		r := results.Result{Verdict: checker.Fail, Lock: "token", Properties: []checker.Property{{Name: p, Verdict: checker.Fail, Violations: 1, Opportunities: 2, Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 1}}}}
		if s := report.RunSentence(r, 0, nil); strings.Contains(s, "another promise") || strings.Contains(s, ": ,") {
			t.Errorf("%s: %s", p, s)
		}
	}
}

// TestSentenceOfAPass: how much a pass says is told in plain words.
func TestSentenceOfAPass(t *testing.T) {
	const want = "1 client of token took turns, with 48,214 holds, without faults: nothing broke in 48,213 hand-overs, " +
		"so that with 95 % confidence at most 0.0062 % of them break; 120 met a fault."
	if got := report.RunSentence(passing(), 0, nil); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOutlivedLease: of a client that outlived its lease the sentence says whether the data was
// damaged, and the advice is none that the lock follows already.
func TestOutlivedLease(t *testing.T) {
	overrun := func(p verdicts.Property) checker.Property {
		return checker.Property{Name: p, Verdict: checker.Fail, Violations: 2, Opportunities: 9, Causes: map[verdicts.Cause]int{verdicts.LeaseOverrun: 2}}
	}
	passed := func(p verdicts.Property) checker.Property {
		return checker.Property{Name: p, Verdict: checker.Pass, Opportunities: 9}
	}
	for _, row := range []struct {
		properties             []checker.Property
		sentence, why, further string
	}{
		{[]checker.Property{overrun(verdicts.ExclusiveUse), overrun(verdicts.StoreIntegrity)},
			"at 2 of 9 writes a client wrote after its lease had ended, beside the next holder, and damaged the data.", "without fences", "Let each write carry"},
		{[]checker.Property{overrun(verdicts.ExclusiveUse), passed(verdicts.StoreIntegrity)},
			"at 2 of 9 uses a client worked on after its lease had ended, beside the next holder: its data is at risk.", "without fences", "Let each write carry"},
		{[]checker.Property{overrun(verdicts.ExclusiveUse), passed(verdicts.StoreIntegrity), passed(verdicts.FencingOrder)},
			"at 2 of 9 uses a client worked on after its lease had ended, and the store refused its late write by the fence.", "(as every lease:", "The data is whole"},
	} {
		r := results.Result{Verdict: checker.Fail, Lock: "token", Properties: row.properties}
		why, then := report.Inherent(r)
		if s := report.RunSentence(r, 0, nil); !strings.HasSuffix(s, row.sentence) || !strings.Contains(why, row.why) || !strings.Contains(then, row.further) {
			t.Errorf("%s\n%s\n%s", s, why, then)
		}
	}
}
