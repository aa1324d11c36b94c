package report

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

func TestFigures(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"thousands", Count(48213), "48,213"},
		{"three digits need no comma", Count(999), "999"},
		{"below zero", Count(-1234567), "-1,234,567"},
		{"zero", Span(time.Duration(0)), "0ns"},
		{"nanoseconds", Span(999 * time.Nanosecond), "999ns"},
		{"three digits", Span(3144 * time.Microsecond), "3.14ms"},
		{"two before the point", Span(31440 * time.Microsecond), "31.4ms"},
		{"whole figures have no point", Span(2 * time.Second), "2s"},
		{"a share", Percent(0.0073), "0.73 %"},
		{"all", Percent(1), "100 %"},
		{"nearly all", Percent(0.994), "99 %"},
		{"a very small share", Percent(6.2e-7), "6.2e-5 %"},
		{"a probability", small(6.2e-5), "6.2e-5"},
		{"a rate", Rate(1234.6), "1,235/s"},
		{"a low rate", Rate(12.345), "12.3/s"},
		{"one", Plural(1, "re-entry"), "1 re-entry"},
		{"several", Plural(2000, "re-entry"), "2,000 re-entries"},
		{"several of another ending", Plural(0, "key"), "0 keys"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// A name that is too long is cut between characters, and keeps its mark; what was not measured has
// its reason in place of figures, and a head that is too long a line of its own.
func TestBenchTables(t *testing.T) {
	cells := []results.BenchCell{
		{Lock: "token", Verdict: checker.Pass}, {Lock: "token", Verdict: checker.Fail}, // marked
		{Lock: "rueidislock-normalised-too", Verdict: checker.Pass}, // cut
		{Lock: "rueidislock-normalised-too", Verdict: checker.Fail}, // the mark is what must be seen
		{Lock: "redlock", Verdict: checker.NotApplicable, Why: "it needs several servers\nand more"},
	}
	table := costTable(cells, "bare")
	names := []string{"token", "token !", "rueidislock-normalise…", "rueidislock-normali… !", "redlock"}
	for i, row := range table.Rows {
		if row[0] != names[i] {
			t.Errorf("row %d: %q, want %q", i, row[0], names[i])
		}
	}
	table.Heads[0] = "32 clients, 5ms hold, 4 keys"
	want := []string{
		"32 clients, 5ms hold, 4 keys",
		"                        holds/s  ±  vs bare  wait p50  wait p99  reqs  cpu",
		"token                         –  –                  –         –     –    –",
		"token !                       –  –                  –         –     –    –",
		"rueidislock-normalise…        –  –                  –         –     –    –",
		"rueidislock-normali… !        –  –                  –         –     –    –",
		"redlock                 it needs several servers",
	}
	if got := table.text(Style{}); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// Several runs end in how many had which verdict, the worst first.
func TestVerdicts(t *testing.T) {
	var b strings.Builder
	all := []results.Result{{Verdict: checker.Pass}, {Verdict: checker.Fail}, {Verdict: checker.Pass}}
	if err := Verdicts(&b, all, Style{}); err != nil || b.String() != "\ntogether  1 fail, 2 pass\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

// TestDamageSaysOfWhich: the counts of a simulated run are of all its schedules, its damage of the
// one that is kept.
func TestDamageSaysOfWhich(t *testing.T) {
	for schedules, want := range map[int]string{
		// on servers
		0: "2 of 9 updates are missing, the store holds 7; 2 lost updates (a write that read what another had read), 0 stale writes",
		// it is all there is
		1: "2 of 9 updates are missing, the store holds 7; 2 lost updates (a write that read what another had read), 0 stale writes",
		// the others had theirs
		10: "in the schedule that is kept, one of 10: 2 of 9 updates are missing, the store holds 7; 2 lost updates (a write that read what another had read), 0 stale writes",
	} {
		r := results.Result{Schedules: schedules, Damage: &checker.Damage{LostUpdates: 2, Missing: 2, Expected: 9, Final: 7}}
		if got := DamageText(r); got != want {
			t.Errorf("%d schedules: %s, want %s", schedules, got, want)
		}
	}
}

// TestPropertyCauses: violations whose cause was not looked for are counted, too.
func TestPropertyCauses(t *testing.T) {
	p := checker.Property{Violations: 9, Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 5, verdicts.DoubleGrant: 1}}
	if got := PropertyCauses(p); got != "mis-unlock 5, double-grant 1, not traced 3" {
		t.Error(got)
	}
	if p.Violations = 6; PropertyCauses(p) != "mis-unlock 5, double-grant 1" {
		t.Error(PropertyCauses(p))
	}
}

// TestManyScenarios: where a matrix in words is too wide, the screen has the scenarios that people
// ask about, and where each lock breaks; of many locks, what people ask about alone.
func TestManyScenarios(t *testing.T) {
	var cells []results.Cell
	for i := range mostTold + 1 {
		lock := "rueidislock-normalised"[:12+i]
		for _, scenario := range []string{"steady", "crash-holder", "pause-holder", "pause-before-release", "lost-reply-acquire", "kill-server", "failover"} {
			cells = append(cells, results.Cell{Lock: lock, Scenario: scenario, Verdict: checker.Pass, Expected: "safe", Observed: "safe"})
		}
	}
	for i, observed := range map[int]string{2: "exclusive-use/lease-overrun", 5: "mutual-exclusion/restart-loss", 6: "mutual-exclusion/failover-loss"} {
		cells[i].Observed = observed
	}
	all := strings.Join(matrixLines(cells, Style{}), "\n")
	few := strings.Join(matrixLines(cells[:14], Style{}), "\n")
	for _, line := range strings.Split(all+"\n"+few, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	const told = "rueidislock-  two: kill-server, failover; late: pause-holder; holds in 4\nrueidislock-n holds in 7\n"
	if !strings.Contains(few, "every scenario\n"+told) || strings.Contains(all, "every scenario") {
		t.Errorf("two locks:\n%s\n\neleven locks:\n%s", few, all)
	}
	if !strings.Contains(all, " crash stall reply data loss failover\n") {
		t.Errorf("the questions are missing:\n%s", all)
	}
}
