package judge

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/scenarios"
)

func span(d time.Duration) faults.Span { return faults.Span{Fixed: d} }

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
		windows := []history.Window{tt.window}
		faults.Describe(windows)
		s := scenarios.Scenario{Lease: span(4 * time.Second), Think: span(2 * time.Second), Faults: []faults.Spec{tt.plan}}
		if got := LateServers(s, windows); len(got) != tt.want {
			t.Errorf("%s: %+v, want %d", tt.name, got, tt.want)
		}
	}
}

// A pass is no evidence about a failover that did not come.
func TestAFailoverThatNeverCame(t *testing.T) {
	const second = int64(time.Second)
	kill := func(last int64, effects ...history.Effect) history.Window {
		return history.Window{Fault: faults.KillServer, Start: second, Ending: second + last, End: second + last, Confirmed: true, Effects: effects}
	}
	promoted := history.Effect{Node: 2, What: history.Promoted}
	for _, row := range []struct {
		name   string
		on     impls.Topology
		window history.Window
		want   checker.Result
	}{
		{"nobody was promoted", impls.Sentinel, kill(5 * second), checker.Inconclusive},
		{"somebody was", impls.Sentinel, kill(5*second, promoted), checker.Pass},
		{"it was back before the sentinels had to act", impls.Sentinel, kill(2 * second), checker.Pass},
		{"there are no sentinels", impls.Replicated, kill(5 * second), checker.Pass},
	} {
		v := &checker.Verdict{Verdict: checker.Pass}
		s := scenarios.Scenario{Topology: row.on, Lease: span(2 * time.Second), Faults: []faults.Spec{{Fault: faults.KillServer, For: span(5 * time.Second)}}}
		if Doubt(v, s, []history.Window{row.window}); v.Verdict != row.want {
			t.Errorf("%s: %s %q, want %s", row.name, v.Verdict, v.Notes, row.want)
		}
	}
}

// A pass is no evidence about a fault that was injected when no other client was active.
func TestAFaultThatMetNobody(t *testing.T) {
	window := func(client string, start, end int64) history.Window {
		return history.Window{Fault: faults.PauseClient, Client: client, Start: start, End: end}
	}
	op := func(client string, call, ret int64) history.Operation {
		return history.Operation{Client: client, Call: call, Return: ret}
	}
	for _, row := range []struct {
		name    string
		ops     []history.Operation
		windows []history.Window
		want    checker.Result
	}{
		{"another is under way in it", []history.Operation{op("c1", 0, 30), op("c2", 5, 15)}, []history.Window{window("c1", 10, 20)}, checker.Pass},
		{"another begins in it and goes on", []history.Operation{op("c2", 15, 40)}, []history.Window{window("c1", 10, 20)}, checker.Pass},
		{"another pauses between two operations", []history.Operation{op("c2", 5, 8), op("c2", 25, 30)}, []history.Window{window("c1", 10, 20)}, checker.Pass},
		{"another begins afterwards", []history.Operation{op("c2", 25, 30)}, []history.Window{window("c1", 10, 20)}, checker.Inconclusive},
		{"the others ended before", []history.Operation{op("c1", 0, 30), op("c2", 5, 10)}, []history.Window{window("c1", 10, 20)}, checker.Inconclusive},
		{"one of two windows is met", []history.Operation{op("c2", 5, 15)}, []history.Window{window("c1", 20, 30), window("c1", 10, 20)}, checker.Pass},
		{"what does not last meets nobody", []history.Operation{op("c2", 5, 8)}, []history.Window{{Fault: faults.CrashClient, Client: "c1", Start: 10}}, checker.Pass},
		{"nor does what is done to a node", nil, []history.Window{{Fault: faults.PauseServer, Start: 10, End: 20}}, checker.Pass},
	} {
		v := &checker.Verdict{Verdict: checker.Pass}
		DoubtMeetings(v, row.ops, row.windows)
		if v.Verdict != row.want || (len(v.Notes) == 0) != (row.want == checker.Pass) {
			t.Errorf("%s: %s %q, want %s", row.name, v.Verdict, v.Notes, row.want)
		}
	}
}
