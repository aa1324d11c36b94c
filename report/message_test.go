package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/report"
)

func TestMessage(t *testing.T) {
	for _, row := range []struct {
		about, text string
		columns     int
		want        []string
	}{
		{"short", "a b", 10, []string{"a b"}},
		{"wrapped", "one two three four", 10, []string{"one two", "  three", "  four"}},
		{"a pipe", "one two three four", 0, []string{"one two three four"}},
		{"a command within quotes", "see 'lockbench list locks' for the names", 20, []string{"see", "  'lockbench list locks'", "  for the names"}},
		{"a quotation with what follows", "is \"my lock\"; why", 10, []string{"is", "  \"my lock\";", "  why"}},
		{"an apostrophe", "the lock's key is the lock's", 12, []string{"the lock's", "  key is the", "  lock's"}},
		{"a path", "x: /a/very/long/path: gone", 10, []string{"x:", "  /a/very/long/path:", "  gone"}},
		{"an excerpt", "wrong here\n  1 | a long line of a file", 10, []string{"wrong here", "  1 | a long line of a file"}},
		{"an escape", "a \x1b[2J", 0, []string{`a \x1b[2J`}},
		{"spaces stay", "a  b", 0, []string{"a  b"}},
	} {
		if got := report.Message(row.columns, row.text); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
	name := "begin" + strings.Repeat("x", 5000) + "end"
	if got := report.Message(0, "unknown lock "+name)[0]; len(got) > 700 || !strings.HasPrefix(got, "unknown lock begin") || !strings.HasSuffix(got, "end") {
		t.Errorf("a long name: %d bytes: %.40s", len(got), got)
	}
}
