package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/scenarios"
)

// Doubt lowers a pass to inconclusive if a fault of the scenario was not confirmed, took too long
// to end, or was never injected: the run has not tested it.
func Doubt(v *checker.Verdict, s scenarios.Scenario, windows []history.Window) {
	injected := map[string]bool{}
	for _, w := range windows {
		injected[w.Fault] = true
		if why := w.Doubt(); why != "" {
			v.Doubt(why)
		}
	}
	for _, w := range LateServers(s, windows) {
		v.Doubt(fmt.Sprintf("%s took %v to end: a section had passed before the node was there", w.Fault, time.Duration(w.End-w.Ending).Round(time.Millisecond)))
	}
	if w := neverReplaced(s, windows); w != nil {
		v.Doubt(fmt.Sprintf("no failover came: the sentinels promoted no replica, though %s took the primary away", w.Fault))
	}
	for _, f := range s.Faults {
		if !injected[f.Fault] {
			v.Doubt(f.Fault + " was never injected: its trigger never matched")
		}
	}
}

// failoverTakes is how long sentinels that take a primary to be down need at most to agree and to
// promote a replica.
const failoverTakes = 3 * time.Second

// neverReplaced returns the fault that took the first primary away for so long that sentinels
// should have promoted a replica, if none was promoted; nil otherwise.
func neverReplaced(s scenarios.Scenario, windows []history.Window) (by *history.Window) {
	away := int64(cmp.Or(s.DownAfter.Of(s.Lease.Fixed), time.Second) + failoverTakes)
	for i := range windows {
		w := &windows[i]
		if slices.ContainsFunc(w.Effects, func(e history.Effect) bool { return e.What == history.Promoted }) {
			return nil
		}
		kind, _ := faults.FindKind(w.Fault)
		if s.Topology == impls.Sentinel && kind.Away && w.Node == 0 && w.Confirmed && w.Last()-w.Start > away {
			by = w
		}
	}
	return by
}

// DoubtMeetings lowers a pass to inconclusive if, whenever a fault of clients was in force, no
// other client was active: the others had finished their rounds while that client waited for its
// turn. A client is active from its first call to its last return: between two operations it pauses
// or polls.
func DoubtMeetings(v *checker.Verdict, ops []history.Operation, windows []history.Window) {
	windows = slices.DeleteFunc(slices.Clone(windows), func(w history.Window) bool {
		kind, _ := faults.FindKind(w.Fault)
		return kind.In != faults.InClient || w.Client == "" || w.End <= w.Start
	})
	if len(windows) == 0 {
		return
	}
	type stay struct{ from, to int64 } // from a client's first call to its last return
	active := map[string]*stay{}
	for i := range ops {
		op := &ops[i]
		s := active[op.Client]
		if s == nil {
			s = &stay{op.Call, op.Return}
			active[op.Client] = s
		}
		s.from, s.to = min(s.from, op.Call), max(s.to, op.Return)
	}
	met := map[string]bool{}
	for _, w := range windows {
		for client, s := range active {
			met[w.Fault] = met[w.Fault] || client != w.Client && s.from < w.End && s.to > w.Start
		}
	}
	for _, fault := range slices.Sorted(maps.Keys(met)) {
		if !met[fault] {
			v.Doubt(fault + " affected nobody: the other clients had done their rounds before it was injected")
		}
	}
}

// LateServers lists the kills and failovers of a scenario after which the next server was ready too
// late. Such a scenario wants it back during the section under way, but the start, of containers
// above all, took more than half a section, so whether the section's lock was still held is chance.
// Faults that keep the server away for a lease are excepted: no hold can last that long.
func LateServers(s scenarios.Scenario, windows []history.Window) (late []history.Window) {
	lease := s.Lease.Of(0)
	for _, w := range windows {
		takesAway := w.Does.Any(history.Kills) && w.Client == ""
		soon := !slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return f.Fault == w.Fault && f.For.Of(lease) >= lease })
		if takesAway && soon && w.Ending > 0 && time.Duration(w.End-w.Ending) > s.Think.Of(lease)/2 {
			late = append(late, w)
		}
	}
	return late
}
