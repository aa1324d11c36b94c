package report

import (
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

// A name that is too long is cut between characters, and keeps its mark and the width of its
// column.
func TestLockCell(t *testing.T) {
	for _, row := range []struct {
		lock    string
		verdict checker.Result
		want    string
	}{
		{"token", checker.Pass, "token     "},       // filled up
		{"token", checker.Fail, "token !   "},       // marked
		{"rueidislock", checker.Pass, "rueidislo…"}, // cut
		{"rueidislock", checker.Fail, "rueidis… !"}, // the mark is what must be seen
	} {
		if got := lockCell(results.BenchCell{Lock: row.lock, Verdict: row.verdict}, 10); got != row.want {
			t.Errorf("%s, %s: %q, want %q", row.lock, row.verdict, got, row.want)
		}
	}
}

// Runs of a lock are one row; the second line has the widths of the intervals, where there are any.
func TestRunsTogether(t *testing.T) {
	v, low, high := 100.0, 90.0, 120.0
	rows := []RunsRow{
		{Lock: "token", Runs: 6, Verdicts: map[checker.Result]int{checker.Pass: 5, checker.Fail: 1},
			Figures: map[string]results.Figure{"throughput": {Unit: results.PerSecond, Value: &v, Low: &low, High: &high}}},
		{Lock: "fair", Runs: 1, Verdicts: map[checker.Result]int{checker.Inconclusive: 1},
			Figures: map[string]results.Figure{"throughput": {Unit: results.PerSecond, Value: &v}}},
	}
	var b strings.Builder
	if err := Runs(&b, rows, Style{}); err != nil {
		t.Fatal(err)
	}
	want := `
together               verdicts         holds/s   wait p50   wait p99     errors
token                  1 FAIL 5 pass        100          –          –          –
                                          ± 20%
fair                   1 ????               100          –          –          –
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
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
