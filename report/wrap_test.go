package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestAgain: a command to be pasted is broken between words of the shell, and nowhere within quotes.
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

// FuzzShellWords: the words of a quoted command line are those that were quoted, spaces, quotes and backslashes within them included.
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
