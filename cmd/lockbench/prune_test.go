package main

import (
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestPruneSparesWhatIsInProgress: a run that a process writes is not deleted, and one that ended
// is, however it ended.
func TestPruneSparesWhatIsInProgress(t *testing.T) {
	base := t.TempDir()
	w := newWorld("")
	d, err := results.Create(base, results.Name(w.now(), "aaa", "steady", "token"), false)
	must(t, err)
	must(t, d.SaveRun(results.Run{ID: "aaa", Lock: "token", Scenario: "steady", Server: "sim", Start: w.now(), Phase: results.Started}))
	use, err := d.Hold()
	must(t, err)
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"ls"}, "in progress"},
		{[]string{"prune", "--keep", "0"}, "left alone " + d.Path() + ": in progress\ndeleted 0, kept 1\n"},
		{[]string{"prune", "--keep", "0", "-o", "json"}, `"why": "in progress"`},
	} {
		w := newWorld("")
		if code := execute(t.Context(), append(append([]string{"lockbench"}, row.args...), "--out", base), w.world); code != exitOK || !strings.Contains(w.out.String(), row.says) {
			t.Errorf("%v exits %d and says %q, want %q", row.args, code, w.out, row.says)
		}
	}
	must(t, use.Close())
	if code := execute(t.Context(), []string{"lockbench", "prune", "--keep", "0", "--out", base}, w.world); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(d.Path()); err == nil {
		t.Error("a run that has ended was not deleted")
	}
}
