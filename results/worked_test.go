package results_test

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// TestAMissedRateMakesARunInconclusive: less than 90 % of the offered rate, in a run without
// faults.
func TestAMissedRateMakesARunInconclusive(t *testing.T) {
	missed := results.Throughput{Open: true, Offered: 400, Achieved: 100}
	if got, want := missed.RateReason(nil), "100 of the 400 offered rounds per second were achieved: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := missed.RateReason([]history.Window{{Confirmed: true}}); got != "" {
		t.Errorf("with a fault: %q", got)
	}
	if got := (results.Throughput{Open: true, Offered: 400, Achieved: 360}).RateReason(nil); got != "" {
		t.Errorf("90 %%: %q", got)
	}
}
