package harness

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/scenarios"
)

func TestLateServers(t *testing.T) {
	const second = int64(time.Second)
	killed := func(took int64) history.Window {
		return history.Window{Fault: faults.KillServer, Start: second, Ending: 2 * second, End: 2*second + took}
	}
	soon, later := faults.Spec{Fault: faults.KillServer, For: span(20 * time.Millisecond)}, faults.Spec{Fault: faults.KillServer, For: faults.Span{Leases: 1}}
	tests := []struct {
		name   string
		plan   faults.Spec
		window history.Window
		want   int
	}{
		{"back at once", soon, killed(second / 10), 0},
		{"back when the section is nearly over", soon, killed(second + 1), 1},
		{"away for a lease by the plan", later, killed(2 * second), 0},
		{"not to come back", soon, history.Window{Fault: faults.KillServer, Start: second}, 0},
		{"promoted too late", faults.Spec{Fault: faults.Failover, Until: faults.OtherEntered}, history.Window{Fault: faults.Failover, Ending: 1, End: 2 * second}, 1},
		{"a pause of a client, however long", soon, history.Window{Fault: faults.PauseClient, Ending: 1, End: 9 * second}, 0},
	}
	for _, tt := range tests {
		e := Experiment{Scenario: scenarios.Scenario{Lease: span(4 * time.Second), Think: span(2 * time.Second), Faults: []faults.Spec{tt.plan}}}
		if got := lateServers(e, []history.Window{tt.window}); len(got) != tt.want {
			t.Errorf("%s: %+v, want %d", tt.name, got, tt.want)
		}
	}
}
