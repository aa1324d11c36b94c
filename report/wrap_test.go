package report

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/explored"
)

// TestAgain: a command to be pasted is broken between words of the shell, and nowhere within
// quotes.
func TestAgain(t *testing.T) {
	for _, row := range []struct {
		why, command string
		want         []string
	}{
		{"a short one", "lockbench run --lock token", []string{"again  lockbench run --lock token"}},
		{"a long one", "lockbench bench --locks token --clients 1,8,32 --duration 30s --warmup 1s --seed 1",
			[]string{`again  lockbench bench --locks token --clients 1,8,32 --duration 30s --warmup \`, "       1s --seed 1"}},
		{"quotes with spaces", "lockbench run --exec 'python3 my lock.py' --scenario pause-holder --find-rate 'p99<20ms' --seed 1",
			[]string{`again  lockbench run --exec 'python3 my lock.py' --scenario pause-holder \`, "       --find-rate 'p99<20ms' --seed 1"}},
		{"a quote within quotes", `lockbench run --exec 'sh -c '\''a b'\''' --scenario pause-holder-for-a-long-time-1 --seed 1`,
			[]string{`again  lockbench run --exec 'sh -c '\''a b'\''' --scenario \`, "       pause-holder-for-a-long-time-1 --seed 1"}},
	} {
		if got := again("again  ", row.command); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

// FuzzShellWords: the words of a quoted command line are those that were quoted, spaces, quotes and
// backslashes within them included.
func FuzzShellWords(f *testing.F) {
	f.Add("--exec", "sh -c 'a b'")
	f.Add(`it's a \ b`, "")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.Contains(a+b, "://") { // redacted
			return
		}
		argv := []string{"lockbench", a, b}
		got := shellWords(results.CommandLine(argv))
		if len(got) != len(argv) || strings.Join(got, " ") != results.CommandLine(argv) {
			t.Errorf("%q: %q", argv, got)
		}
	})
}

// TestResultsOfSearchesFit: the text of a search or a reproduction fits a terminal of 80 columns,
// but for the story and paths.
func TestResultsOfSearchesFit(t *testing.T) {
	long := strings.Repeat("some words of a note, ", 12)
	faults := []string{"cancel-client", "crash-client", "delay-reply", "delay-request", "flush-scripts", "lose-reply", "pause-client", "slow-work"}
	var b strings.Builder
	x := explored.Exploration{Lock: "set-nx-ex", Strategy: explored.Exhaustive, Exhausted: true, Schedules: 12345, States: 99, Unhashed: 3, Shard: "3/8", Seconds: 2, Virtual: 3,
		Bounds: explored.Bounds{Clients: 2, Ops: 3, MaxFaults: 2, Faults: faults}, Warnings: []string{long}, Rerun: "lockbench explore --lock set-nx-ex --faults " + strings.Join(faults[:3], ",") + " --out a-directory --seed 12345"}
	if err := Explore(&b, x, Style{}); err != nil {
		t.Fatal(err)
	}
	r := results.Repro{Name: "a-bug", What: long, Source: "a source", Lock: "a-lock", Scenario: "pause-holder", Server: "sim", Expected: faults, Observed: faults, Why: long,
		Command: "lockbench run --lock a-lock --scenario pause-holder --server process --out a-directory --seed 12345"}
	if err := Repro(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "shard 3/8") || !strings.Contains(b.String(), "slow-work") {
		t.Errorf("something is missing:\n%s", b.String())
	}
}
