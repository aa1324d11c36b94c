package report_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/verdicts"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with a file in testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func spread(p50, max time.Duration, n int64) results.Spread {
	return results.Spread{P50: int64(p50), P90: int64(p50) * 2, P99: int64(max) / 2, P999: int64(max), Max: int64(max), Count: n}
}

func splits(p50, max time.Duration, n int64) *results.Split {
	return &results.Split{Response: spread(p50, max, n), Service: spread(p50/2, max/2, n)}
}

func misUnlock(storyLines int) *checker.Violation {
	v := &checker.Violation{Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock, At: 12_418_000_000, Lasted: 81_000_000,
		Clients: []string{"c7", "c3"}, Key: "job",
		Lanes:   []string{"c7 |====####======|", "c3       |=====|   "},
		Witness: checker.Witness{Operations: []history.Operation{{Client: "c7", Op: history.Acquire, Call: 1000, Return: 2000, Outcome: history.OK, Token: "t1", Fence: 41}}}}
	for i := range storyLines {
		v.Story = append(v.Story, fmt.Sprintf("%2d. line of the story, in plain words, about who held and who entered", i+1))
	}
	return v
}

func failing(story int) results.Result {
	first := misUnlock(story)
	return results.Result{Verdict: checker.Fail, Lock: "set-nx-ex", Scenario: "pause-holder", Server: "process", Seed: 8341,
		Properties: []checker.Property{
			{Name: verdicts.MutualExclusion, Verdict: checker.Fail, Violations: 3, Opportunities: 412, MetFault: 9, Rate: 0.0073,
				CI95: [2]float64{0.0015, 0.0211}, Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 2, verdicts.LeaseOverrun: 1}, First: first},
			{Name: verdicts.ReleaseSafety, Verdict: checker.Fail, Violations: 1, Opportunities: 1, Rate: 1, CI95: [2]float64{0.025, 1},
				Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 1}, First: &checker.Violation{At: 13_000_000_000}},
			{Name: verdicts.ExclusiveUse, Verdict: checker.Pass, Opportunities: 412, CI95: [2]float64{0, 0.0073}},
			{Name: verdicts.Linearizability, Verdict: checker.Inconclusive, Note: "2 windows not searched: the budget of 10s was spent"},
			{Name: verdicts.FencingOrder, Verdict: checker.NotApplicable}, {Name: verdicts.Reentrancy, Verdict: checker.NotApplicable}},
		Operations: checker.Operations{"acquire": {"ok": 412, "busy": 9120, "unknown": 14}, "release": {"ok": 410, "unknown": 1}},
		Damage:     &checker.Damage{LostUpdates: 3, StaleWrites: 1, Expected: 45_678, Final: 45_378, Missing: 300},
		Latency: map[string]results.Operation{
			"acquire":   {Split: results.Split{Response: spread(1, 2, 412)}, Outside: splits(900*time.Microsecond, 7*time.Millisecond, 398), Inside: splits(1100*time.Microsecond, 2310*time.Millisecond, 14)},
			"hand-over": {Split: results.Split{Response: spread(1, 2, 10)}, Outside: splits(2*time.Millisecond, 30*time.Millisecond, 10), Inside: &results.Split{}},
			"release":   {Split: results.Split{Response: spread(1, 2, 411)}, Outside: splits(300*time.Microsecond, 4*time.Millisecond, 411), Inside: &results.Split{}}},

		Load:   results.Throughput{Clients: 8, Open: true, Offered: 500, Achieved: 212.4, Duration: 20 * time.Second, WarmUp: time.Second, Excluded: 12},
		Wait:   &latency.Wait{Acquires: 412, BehindHolder: 820, RoundTrips: 110, RetrySleep: 60, GeneratorLag: 10},
		Health: results.Health{LateStarts: 2, Starts: 10_000, MaxLag: 1_100_000, GCMax: 400_000, Dropped: 1, NotSearched: 2, MaxStall: 120_000_000, Stalled: true},
		Notes:  []string{"the second opinion left out 2 windows", "another", "a third"},
		Rerun:  "lockbench run --lock set-nx-ex --scenario pause-holder --server process --seed 8341"}
}

func passing() results.Result {
	return results.Result{Verdict: checker.Pass, Lock: "token", Scenario: "steady", Server: "process", Seed: 1,
		Properties: []checker.Property{{Name: verdicts.MutualExclusion, Verdict: checker.Pass, Opportunities: 48_213, MetFault: 120, CI95: [2]float64{0, 6.2e-5}},
			{Name: verdicts.StoreIntegrity, Verdict: checker.Pass, Opportunities: 48_000, CI95: [2]float64{0, 6.3e-5}}},
		Operations: checker.Operations{"acquire": {"ok": 48_214}},
		Damage:     &checker.Damage{Expected: 5, Final: 5},
		NoLatency:  results.NoLatency,
		Load:       results.Throughput{Clients: 1, Achieved: 12.345, Duration: 1500 * time.Millisecond},
		Rerun:      "lockbench run --lock token --scenario steady --seed 1"}
}

func text(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	must(t, write(&b))
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func runText(t *testing.T, r results.Result, path string, s report.Style) string {
	t.Helper()
	kept := report.Kept{Dir: path}
	if path != "" {
		kept.Page = path + "/" + results.ReportFile
	}
	return text(t, func(b *strings.Builder) error { return report.Run(b, r, kept, s) })
}

// forms writes a suite and a bench in every form.
func forms(suite results.Suite, page string, bench results.Bench, kept report.Kept) map[string]func(*strings.Builder) error {
	return map[string]func(*strings.Builder) error{
		"suite.txt":      func(w *strings.Builder) error { return report.Suite(w, suite, page, report.Style{}) },
		"suite.md":       func(w *strings.Builder) error { return report.SuiteMarkdown(w, suite) },
		"suite.xml":      func(w *strings.Builder) error { return report.SuiteJUnit(w, suite) },
		"suite.csv":      func(w *strings.Builder) error { return report.SuiteCSV(w, suite) },
		"bench.txt":      func(w *strings.Builder) error { return report.Bench(w, bench, kept, report.Style{}) },
		"bench.md":       func(w *strings.Builder) error { return report.BenchSummary(w, bench) },
		"bench.xml":      func(w *strings.Builder) error { return report.BenchJUnit(w, bench) },
		"bench.csv":      func(w *strings.Builder) error { return report.BenchCSV(w, bench) },
		"bench.gha.json": func(w *strings.Builder) error { return report.GitHubBenchmark(w, report.BenchMeasures(bench)) },
		"bench.bmf.json": func(w *strings.Builder) error { return report.Bencher(w, report.BenchMeasures(bench)) },
	}
}

// TestGoldens: every form of every record is as it was.
func TestGoldens(t *testing.T) {
	fail, pass, suite, bench, plain := failing(5), passing(), aSuite(), aBench(), report.Style{}
	stored := failing(12)
	stored.Server, stored.Rerun = "", "lockbench check history.jsonl"
	empty := results.Result{Verdict: checker.Inconclusive, Lock: "token", Scenario: "steady", Server: "process", Rerun: "lockbench run",
		Properties: []checker.Property{{Name: verdicts.MutualExclusion, Verdict: checker.Inconclusive, Note: "no hand-over took place"}}}
	run := func(r results.Result, path string) func(*strings.Builder) error {
		return func(w *strings.Builder) error { _, err := w.WriteString(runText(t, r, path, plain)); return err }
	}
	all := forms(suite, "results/runs/suite-1/report.html", bench, report.Kept{Dir: "results/runs/bench-x", Page: "results/runs/bench-x/report.html"})
	maps.Copy(all, map[string]func(*strings.Builder) error{
		"run-fail.txt":      run(failing(9), "results/runs/latest"),
		"run-pass.txt":      run(pass, ""),
		"run-empty.txt":     run(empty, "results/runs/x"),
		"run-fail.md":       func(w *strings.Builder) error { return report.RunMarkdown(w, failing(6)) },
		"run-pass.md":       func(w *strings.Builder) error { return report.RunMarkdown(w, pass) },
		"run-fail.xml":      func(w *strings.Builder) error { return report.RunJUnit(w, aRun(), &fail) },
		"run-pass.xml":      func(w *strings.Builder) error { return report.RunJUnit(w, aRun(), &pass) },
		"run-fail.csv":      func(w *strings.Builder) error { return report.RunCSV(w, fail) },
		"run-fail.gha.json": func(w *strings.Builder) error { return report.GitHubBenchmark(w, report.RunMeasures(fail)) },
		"run-fail.bmf.json": func(w *strings.Builder) error { return report.Bencher(w, report.RunMeasures(fail)) },
		"history-fail.txt":  func(w *strings.Builder) error { return report.History(w, stored, plain) },
		"violation.txt":     func(w *strings.Builder) error { return report.Violation(w, *misUnlock(6)) },
	})
	for name, write := range all {
		t.Run(name, func(t *testing.T) { golden(t, name, text(t, write)) })
	}
}

// TestRunFitsTheScreen: a long story is cut, says so, and says where the rest is; one of ordinary
// length is whole, also where much else must be told.
func TestRunFitsTheScreen(t *testing.T) {
	for _, n := range []int{0, 5, 7, 12, 200} {
		crowded, ordinary := failing(n), failing(n)
		ordinary.Notes, ordinary.Health = nil, results.Health{}
		out := runText(t, ordinary, "results/runs/x", report.Style{})
		if lines := strings.Count(out, "\n"); lines > report.MaxLines {
			t.Errorf("story of %d lines: %d lines, want at most %d\n%s", n, lines, report.MaxLines, out)
		}
		out = runText(t, crowded, "results/runs/x", report.Style{})
		if lines := strings.Count(out, "\n"); lines > 35 {
			t.Errorf("story of %d lines, and much else: %d lines, want at most 35\n%s", n, lines, out)
		}
		if told := strings.Count(out, "line of the story"); told < min(n, 8) || n == 200 && !strings.Contains(out, "more lines in results/runs/x/violations") {
			t.Errorf("story of %d lines: %d told\n%s", n, told, out)
		}
	}
}

// TestColours: no escape byte by default, and colours do not change the text.
func TestColours(t *testing.T) {
	plain, dressed := runText(t, failing(5), "x", report.Style{}), runText(t, failing(5), "x", report.Style{Colour: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("escape bytes in plain text")
	}
	if !strings.HasPrefix(dressed, "\x1b[1;31mFAIL\x1b[0m") {
		t.Errorf("dressed: %q", dressed[:20])
	}
	for _, code := range []string{"\x1b[1;34m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[2m", "\x1b[0m"} {
		dressed = strings.ReplaceAll(dressed, code, "")
	}
	if diff := cmp.Diff(plain, dressed); diff != "" {
		t.Errorf("colours change the text:\n%s", diff)
	}
}

func aSuite() results.Suite {
	safe, broken := verdicts.Safe(), verdicts.Breaks("mutual-exclusion/mis-unlock").Or("store-integrity/mis-unlock")
	cell := func(r results.Result, want verdicts.Expectation, planted bool) results.Cell {
		r.Health = results.Health{} // of a machine that did not stall
		c := results.NewCell(r, want)
		if planted {
			c = results.PlantedCell(r, want)
		}
		c.Duration = 300 * time.Millisecond
		c.Planted, c.Run = planted, "results/runs/"+r.Scenario+"-"+r.Lock
		return c
	}
	as := func(r results.Result, lock, scenario string) results.Result {
		r.Lock, r.Scenario = lock, scenario
		return r
	}
	lone := failing(5)
	lone.Properties = lone.Properties[:1]
	lone.Properties[0].Causes = map[verdicts.Cause]int{verdicts.MisUnlock: 3}
	s := results.Suite{Server: "process", Seed: 7, Duration: 41_300 * time.Millisecond, Rerun: "lockbench suite --server process --seed 7",
		Notes: []string{"2 scenarios need Docker and were left out"},
		Cells: []results.Cell{
			cell(as(passing(), "set-nx-ex", "steady"), safe, false), cell(as(lone, "set-nx-ex", "pause-holder"), broken, false),
			results.NACell("set-nx-ex", "crash-mid-acquire", "one command acquires"),
			cell(as(passing(), "token", "steady"), safe, false), cell(as(lone, "token", "pause-holder"), safe, false),
			results.ErrorCell("token", "crash-mid-acquire", safe, errors.New("no server came up")),
			cell(as(lone, "release-blind", "pause-holder"), broken, true), cell(as(passing(), "quorum-of-half", "steady"), verdicts.Breaks("mutual-exclusion"), true),
		}}
	s.Judge()
	return s
}

// TestWrongWritesDoNotLast: the write took 81 ms, and nothing else did.
func TestWrongWritesDoNotLast(t *testing.T) {
	wrong := *misUnlock(6)
	wrong.Property = verdicts.StoreIntegrity
	if got := text(t, func(b *strings.Builder) error { return report.Violation(b, wrong) }); strings.Contains(got, "lasted") {
		t.Error(got)
	}
}

// TestComparisonTellsWhatChanged: a cell that another has as well is told as it was and is, one that
// is gone as nothing.
func TestComparisonTellsWhatChanged(t *testing.T) {
	c := results.Comparison{Kind: "suites", Base: "a", New: "b", Verdict: results.CompareUnsafe, Changes: []results.Change{
		{Change: results.Broken, Lock: "token", Scenario: "steady", Was: "safe", Is: "mutual-exclusion/mis-unlock"},
		{Change: results.Gone, Lock: "token", Scenario: "failover", Was: "safe"}}}
	for range 12 { // ten are listed
		c.Changes = append(c.Changes, results.Change{Change: results.Other, Lock: "fair", Scenario: "steady", Was: "x", Is: "y"})
	}
	var b strings.Builder
	must(t, report.Comparison(&b, c, report.Style{}))
	for _, want := range []string{"token × steady: was safe, is mutual-exclusion/mis-unlock\n", "token × failover: was safe, is nothing\n", "2 more (-o json lists them)\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
