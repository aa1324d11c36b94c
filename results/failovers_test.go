package results_test

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

func TestFailoversAreCounted(t *testing.T) {
	had := history.Window{Fault: "failover", Confirmed: true, Replica: history.HadKey}
	lacked, unknown, unconfirmed := had, had, had
	lacked.Replica, unknown.Replica, unconfirmed.Confirmed = history.LackedKey, "", false
	none := results.CountFailovers([]history.Window{unknown, unconfirmed, {Fault: "kill-server", Confirmed: true}})
	if none != nil {
		t.Errorf("without a known failover: %+v", none)
	}
	some := results.CountFailovers([]history.Window{had, unknown, lacked, had, unconfirmed})
	sum := results.SumFailovers(none, some, results.CountFailovers([]history.Window{lacked}))
	if some.Count != 3 || some.Had != 2 || sum.Count != 4 || sum.Had != 2 || sum.Share() != 0.5 {
		t.Errorf("%+v, in all %+v", some, sum)
	}
	// Clopper-Pearson of 2 in 4
	if low, high := sum.CI95[0], sum.CI95[1]; low < 0.06 || low > 0.07 || high < 0.93 || high > 0.94 {
		t.Errorf("interval %v", sum.CI95)
	}
}
