package explain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/verdicts"
)

// TestFound: violations whose cause was once reported wrongly have the cause that a reader found in their commands.
func TestFound(t *testing.T) {
	dirs, err := filepath.Glob("testdata/found/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d cases: %v", len(dirs), err)
	}
	for _, dir := range dirs {
		c := loadCase(t, dir)
		if a := c.explained(t); a.Cause != c.truth || !strings.Contains(said(a), c.shows) {
			t.Errorf("%s (%s): %s: %s, want %s %s: %s\nbecause %s", dir, c.cell, c.of, a.Cause, c.truth, c.shows, said(a), c.because)
		}
	}
}

// TestBlindSet compares the causes with those that readers found from sheets alone (blindsheet_test.go), for two hundred failing cells drawn at random,
// half of them simulated and half on redis-server, and prints the accuracy. A cause may be unknown; one that differs from the reader's is a bug.
func TestBlindSet(t *testing.T) {
	const dir = "testdata/blind"
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 200 {
		t.Fatalf("%d cases: %v", len(entries), err)
	}
	right, unknown := 0, 0
	for _, e := range entries {
		c := loadCase(t, filepath.Join(dir, e.Name()))
		a := c.explained(t)
		switch a.Cause {
		case c.truth:
			right++
		case verdicts.CauseUnknown:
			unknown++
			t.Logf("%s (%s): unknown, want %s", e.Name(), c.cell, c.truth)
		default:
			t.Errorf("%s (%s): %s: %s, want %s: %s\nthe reader: %s", e.Name(), c.cell, c.of, a.Cause, c.truth, said(a), c.because)
		}
	}
	t.Logf("of %d cases %d have the reader's cause, and %d none", len(entries), right, unknown)
}
