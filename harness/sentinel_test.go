package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// A partition makes two primaries, which both grant; a lock whose grants need a replica is held
// once, and so is one whose primary needs replicas to write, if it misses them, and a lease has
// ended, before the sentinels promote another.
func TestPartitionMakesTwoPrimaries(t *testing.T) {
	for _, row := range []struct {
		lock        string
		minReplicas int
		as          ClientsAs
		want        verdicts.Cause // of mutual-exclusion; "": it holds
	}{
		{"token", 0, Goroutines, verdicts.SplitBrain},
		{"token", 0, Processes, verdicts.SplitBrain},
		{"token", 1, Goroutines, ""},
		{"token-wait", 0, Goroutines, ""},
	} {
		t.Run(fmt.Sprintf("%s, min-replicas-to-write %d, %s", row.lock, row.minReplicas, row.as), func(t *testing.T) {
			t.Parallel()
			e := experiment(t, row.lock, "sentinel-partition", provider(t, "process"), row.as)
			e.Scenario.MinReplicas = row.minReplicas
			if row.minReplicas == 0 { // nothing must come before the promotion
				e.Scenario.DownAfter = faults.Span{Fixed: time.Second}
				e.Scenario.Length, e.Scenario.Faults[0].For = faults.Span{Fixed: 8 * time.Second}, faults.Span{Fixed: 6 * time.Second}
			}
			out, err := Run(t.Context(), e)
			must(t, err)
			promoted := slices.ContainsFunc(out.Windows[0].Effects, func(e history.Effect) bool { return e.What == history.Promoted && e.Node > 0 })
			if !promoted {
				t.Fatalf("no replica was promoted: %+v", out.Windows)
			}
			if !slices.ContainsFunc(out.Result.Notes, func(n string) bool {
				return strings.Contains(n, "after the fault of node 1, and first granted the lock after")
			}) {
				t.Errorf("the notes do not say when a replica took over: %q", out.Result.Notes)
			}
			i := slices.IndexFunc(out.Verdict.Properties, func(p checker.Property) bool { return p.Name == verdicts.MutualExclusion })
			me := out.Verdict.Properties[i]
			if row.want == "" && me.Violations > 0 || row.want != "" && me.Causes[row.want] == 0 {
				t.Errorf("mutual-exclusion: %d violations, %v; want %q", me.Violations, me.Causes, row.want)
			}
			if n := me.Causes[verdicts.DoubleGrant]; n > 0 {
				t.Errorf("%d violations are %s: each primary granted it once", n, verdicts.DoubleGrant)
			}
		})
	}
}
