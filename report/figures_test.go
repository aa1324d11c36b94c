package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

func TestFigures(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"thousands", count(48213), "48,213"},
		{"three digits need no comma", count(999), "999"},
		{"below zero", count(-1234567), "-1,234,567"},
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
	}
	for _, tt := range tests {
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
	for i, row := range table.rows {
		if row[0] != names[i] {
			t.Errorf("row %d: %q, want %q", i, row[0], names[i])
		}
	}
	table.heads[0] = "32 clients, 5ms hold, 4 keys"
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
		0: "2 lost updates, 0 stale writes: 2 of 9 are missing, the store holds 7",
		// it is all there is
		1: "2 lost updates, 0 stale writes: 2 of 9 are missing, the store holds 7",
		// the others had theirs
		10: "in the schedule that is kept, one of 10: 2 lost updates, 0 stale writes: 2 of 9 are missing, the store holds 7",
	} {
		r := results.Result{Schedules: schedules, Damage: &checker.Damage{LostUpdates: 2, Missing: 2, Expected: 9, Final: 7}}
		if got := DamageText(r); got != want {
			t.Errorf("%d schedules: %s, want %s", schedules, got, want)
		}
	}
}
