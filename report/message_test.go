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
		want        []string
	}{
		{"short", "a b", []string{"a b"}},
		{"long", "see 'lockbench list locks' " + strings.Repeat("for the names ", 20) + "end", []string{"see 'lockbench list locks' " + strings.Repeat("for the names ", 20) + "end"}},
		{"an excerpt", "wrong here\n  1 | a long line of a file", []string{"wrong here", "  1 | a long line of a file"}},
		{"an escape", "a \x1b[2J", []string{`a \x1b[2J`}},
		{"spaces stay", "a  b", []string{"a  b"}},
	} {
		if got := report.Message(row.text); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
	name := "begin" + strings.Repeat("x", 5000) + "end"
	if got := report.Message("unknown lock " + name)[0]; len(got) > 700 || !strings.HasPrefix(got, "unknown lock begin") || !strings.HasSuffix(got, "end") {
		t.Errorf("a long name: %d bytes: %.40s", len(got), got)
	}
}
