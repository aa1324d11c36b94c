package sim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// TestEffectsAddUp: the same schedule has the same effects; the changes that a schedule records, one after the other, each begin with what was there, and give the data that
// miniredis has in the end; and each command with a change has its record's client, reply and time. The locks keep strings, hashes,
// lists, sets and sorted sets, with scripts, transactions and blocking commands, and every fault of a server strikes somewhere.
func TestEffectsAddUp(t *testing.T) {
	seen := map[string]int{} // kinds of effects and of values
	for _, v := range append(catalogue.Locks(), catalogue.Planted()...) {
		t.Run(v.Name, func(t *testing.T) {
			j := searchJob{Program: DefaultProgram(v), Strategy: Mixed, Bounds: Bounds{MaxFaults: 3, MaxWaits: 3,
				Faults: append(DefaultFaults(v), faults.JumpClock, faults.KillServer, faults.DeleteKey, faults.EvictKeys)}}
			if v.Topology == impls.Replicated {
				j.Bounds.Faults = append(j.Bounds.Faults, faults.Failover)
			}
			h := newTestHost(t)
			s, err := newSearch(j, h)
			if err != nil {
				t.Fatal(err)
			}
			draw := func(n int) schedule {
				c := s.job.draw(n, 40)
				if n%2 == 1 {
					c.program.Persistence = impls.PersistEverySec
				}
				if n%3 == 2 {
					fast := faults.Spec{Fault: faults.DriftClock, Node: 1, Rate: 1.5, For: faults.Span{Leases: 2}}
					c.program.Faults = append(slices.Clone(c.program.Faults), fast)
				}
				return c
			}
			for n := range 12 {
				out := addsUp(t, h, draw(n), seen)
				if n%4 == 0 {
					if diff := cmp.Diff(out.Effects, addsUp(t, h, draw(n), seen).Effects); diff != "" {
						t.Errorf("the same schedule has other effects:\n%s", diff)
					}
				}
			}
		})
	}
	for _, what := range []string{history.Expired, history.Restarted, history.Promoted, history.ClockSet, history.ClockRate, history.Deleted,
		history.Evicted, "string", "map[string]string", "map[string]float64", "[]string"} {
		if seen[what] == 0 {
			t.Errorf("no schedule has %s: the test shows nothing about it", what)
		}
	}
}

func addsUp(t *testing.T, h *host, c schedule, seen map[string]int) Outcome {
	t.Helper()
	p, err := c.program.resolve(h.known)
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.newWorld(p, c.strategy, c.bounds)
	if err != nil {
		t.Fatal(err)
	}
	if !w.run(h) {
		t.Fatal("the schedule never settles")
	}
	out := w.outcome()
	states, last := map[int]map[string]*history.Datum{}, map[int]int64{}
	for _, e := range out.Effects {
		seen[e.Effect]++
		state := states[e.Node]
		if state == nil {
			state = map[string]*history.Datum{}
			states[e.Node] = state
		}
		if e.At < last[e.Node] {
			t.Errorf("%+v comes before the one of node %d at %d", e, e.Node, last[e.Node])
		}
		last[e.Node] = e.At
		if e.Effect == "" {
			isRecorded(t, out, e)
		}
		for _, change := range e.Changes {
			if diff := cmp.Diff(state[change.Key], change.Before); diff != "" {
				t.Fatalf("%+v: %s was otherwise before:\n%s", e, change.Key, diff)
			}
			if state[change.Key] = change.After; change.After == nil {
				delete(state, change.Key)
			} else {
				seen[fmt.Sprintf("%T", change.After.Value)]++
			}
		}
	}
	for _, n := range w.lockNodes() {
		number, addressed := w.numberOf(n)
		if !addressed || n.down {
			continue
		}
		if diff := cmp.Diff(inMiniredis(w, n), states[number], cmp.Transformer("", func(m map[string]*history.Datum) map[string]history.Datum {
			all := map[string]history.Datum{}
			for key, d := range m {
				all[key] = *d
			}
			return all
		})); diff != "" {
			t.Errorf("node %d ends otherwise than the effects:\n%s", number, diff)
		}
	}
	return out
}

// isRecorded checks an effect of a command against the record: of a command that got no reply there, the effect has one all the same.
func isRecorded(t *testing.T, out Outcome, e history.Executed) {
	t.Helper()
	if !slices.ContainsFunc(out.Commands, func(c history.Command) bool {
		return c.Client == e.Client && c.Conn == e.Conn && c.Op == e.Op && c.Name == e.Name && c.Node == e.Node && c.Ran == e.At &&
			slices.Equal(c.Args, e.Args) && (c.Replied == 0 || c.Reply == e.Reply)
	}) || e.Reply == "" {
		t.Errorf("no command of the record, or no reply: %+v", e)
	}
}

// inMiniredis returns the data of a node as miniredis has it.
func inMiniredis(w *world, n *node) map[string]*history.Datum {
	db, all := n.redis.DB(0), map[string]*history.Datum{}
	own := n.clock.now(w.start.Add(w.out.Virtual))
	n.data = nil // so that read does not return it
	for _, key := range db.Keys() {
		all[key] = &n.read(db, key, own).Datum
	}
	return all
}
