package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/resp"
)

// TestEffectsAddUp: the same schedule has the same effects; the changes that a schedule records,
// one after the other, each begin with what was there, and give the data that miniredis has in the
// end; and each command with a change has its record's client, reply and time. The locks keep
// strings, hashes, lists, sets and sorted sets, with scripts, transactions and blocking commands,
// and every fault of a server strikes somewhere.
func TestEffectsAddUp(t *testing.T) {
	seen := map[string]int{} // kinds of effects and of values
	for _, v := range append(catalogue.Locks(), catalogue.Planted()...) {
		t.Run(v.Name, func(t *testing.T) {
			bounds := Bounds{MaxFaults: 3, MaxWaits: 3, Faults: append(DefaultFaults(v), faults.JumpClock, faults.KillServer, faults.DeleteKey, faults.EvictKeys)}
			if v.Topology == impls.Replicated {
				bounds.Faults = append(bounds.Faults, faults.Failover)
			}
			h := newSimulator(t)
			run := func(n int) Outcome {
				p, order, bounds := scheduleOf(v, bounds, n)
				if n%2 == 1 {
					p.Persistence = impls.PersistEverySec
				}
				if n%3 == 2 {
					fast := faults.Spec{Fault: faults.DriftClock, Node: 1, Rate: 1.5, For: faults.Span{Leases: 2}}
					p.Faults = append(p.Faults, fast)
				}
				return addsUp(t, h, p, order, bounds, seen)
			}
			for n := range 12 {
				out := run(n)
				if n%4 == 0 {
					if diff := cmp.Diff(out.Effects, run(n).Effects); diff != "" {
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

func addsUp(t *testing.T, h *Simulator, p Program, s Strategy, b Bounds, seen map[string]int) Outcome {
	t.Helper()
	p, err := p.Resolve(h.known)
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.newWorld(p, s, b)
	if err != nil {
		t.Fatal(err)
	}
	if !w.run(h.endlessAfter) {
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
		if number, addressed := w.numberOf(n); addressed && !n.down {
			endsWith(t, w, n, states[number])
		}
	}
	return out
}

// isRecorded checks an effect of a command against the record: of a command that got no reply
// there, the effect has one all the same.
func isRecorded(t *testing.T, out Outcome, e history.Executed) {
	t.Helper()
	if !slices.ContainsFunc(out.Commands, func(c history.Command) bool {
		return c.Client == e.Client && c.Conn == e.Conn && c.Op == e.Op && c.Name == e.Name && c.Node == e.Node && c.Ran == e.At &&
			slices.Equal(c.Args, e.Args) && (c.Replied == 0 || c.Reply == e.Reply)
	}) || e.Reply == "" {
		t.Errorf("no command of the record, or no reply: %+v", e)
	}
}

// endsWith compares the data of a node at the end of a schedule, asked for by commands, with the
// sum of the changes.
func endsWith(t *testing.T, w *world, n *node, want map[string]*history.Datum) {
	t.Helper()
	end, session := w.start.Add(w.out.Virtual), n.NewSession(nil)
	ask := func(args ...string) string {
		r, _ := resp.ParseReply(n.Execute(session, args, end))
		return r.Line(history.MaxReply)
	}
	if got, want := ask("DBSIZE"), strconv.Itoa(len(want)); got != want {
		t.Errorf("node %d has %s keys, want %s: %s", n.index, got, want, ask("KEYS", "*"))
	}
	for key, d := range want {
		var has, should string
		switch value := d.Value.(type) {
		case string:
			has, should = ask("GET", key), strconv.Quote(value)
		case map[string]string:
			for f, v := range value {
				has, should = has+ask("HGET", key, f), should+strconv.Quote(v)
			}
			has, should = has+ask("HLEN", key), should+strconv.Itoa(len(value))
		case []string:
			has, should = ask("LRANGE", key, "0", "-1"), `["`+strings.Join(value, `", "`)+`"]`
		case map[string]bool:
			for m := range value {
				has, should = has+ask("SISMEMBER", key, m), should+"1"
			}
			has, should = has+ask("SCARD", key), should+strconv.Itoa(len(value))
		case map[string]float64:
			for m, score := range value {
				has, should = has+ask("ZSCORE", key, m), should+strconv.Quote(strconv.FormatFloat(score, 'g', 17, 64))
			}
			has, should = has+ask("ZCARD", key), should+strconv.Itoa(len(value))
		}
		if has != should {
			t.Errorf("node %d ends with %s = %s, want %s", n.index, key, has, should)
		}
		left, want := ask("PTTL", key), int64(-1)
		if d.Until != 0 {
			want = n.Clock().Now(w.start.Add(time.Duration(d.Until))).Sub(n.Clock().Now(end)).Milliseconds()
		}
		if got, _ := strconv.ParseInt(left, 10, 64); got < want-1 || got > want+1 {
			t.Errorf("node %d: the lease of %s has %d ms left, want %d", n.index, key, got, want)
		}
	}
}
