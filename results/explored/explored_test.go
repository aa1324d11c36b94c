package explored

import "testing"

func TestExceptions(t *testing.T) {
	for want, excepted := range map[string]map[string]int{
		"": nil,
		"exclusive-use/lease-overrun in 2 schedules, store-integrity/lease-overrun in 1 schedule: a client outlived its lease, which no lease prevents": {
			"store-integrity/lease-overrun": 1, "exclusive-use/lease-overrun": 2},
		"exclusive-use/lease-overrun in 3 schedules: a client outlived its lease, which no lease prevents; " +
			"progress/unknown in 4 schedules: a fault kept the client from the lock": {"progress/unknown": 4, "exclusive-use/lease-overrun": 3},
	} {
		if got := (Exploration{Excepted: excepted}).Exceptions(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
