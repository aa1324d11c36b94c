package history_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// What a run adds to what it reached is named; all else that was in store for it is still missing.
func TestReached(t *testing.T) {
	got := history.Operation{Op: history.Acquire, Client: "c1", Key: "k", Outcome: history.OK}
	other := got
	other.Client = "c2"
	late := got
	late.Return = 100
	busy := got
	busy.Outcome = history.Busy
	reads := history.Operation{Op: history.Use, Client: "c1", Key: "k", Mode: history.Shared}
	also := reads
	also.Client = "c2"
	long := history.Operation{Op: history.Use, Client: "c1", Key: "k", Return: 101}
	sent := []history.Command{{Op: 1}, {Name: "PEXPIRE"}}
	rw := history.Header{Kind: history.RW, Lease: 100}
	struck := history.Window{Fault: "pause-client", Confirmed: true}
	for _, row := range []struct {
		name     string
		header   history.Header
		ops      []history.Operation
		commands []history.Command
		windows  []history.Window
		plan     history.Prospect
		never    string
	}{
		{name: "nothing is done", header: rw, plan: history.Prospect{Faults: []string{"pause-client"}, Extends: true, TellsLosses: true},
			never: "a call without an answer, a hand-over to another client, a hold beyond its lease, a notice of a loss, a refused acquire, a refused release, an extend or a renewal, pause-client, readers at once"},
		{name: "clients that wait", plan: history.Prospect{Waits: true}, never: "a hand-over to another client, a refused release, a wait"},
		{name: "a fault that struck, and one that did not", plan: history.Prospect{Faults: []string{"pause-client"}}, windows: []history.Window{struck, {Fault: "kill-server"}},
			never: "a call without an answer, a hand-over to another client, a refused acquire, a refused release"},
		{name: "one client twice", ops: []history.Operation{got, got}, never: "a hand-over to another client, a refused acquire, a refused release"},
		{name: "another client", ops: []history.Operation{got, other, busy}, never: "a refused release"},
		{name: "a grant at once", ops: []history.Operation{got, other}, plan: history.Prospect{Waits: true}, never: "a refused release, a wait"},
		{name: "a late grant", ops: []history.Operation{late, other}, plan: history.Prospect{Waits: true, Poll: 100}, never: "a refused release"},
		{name: "one reads", header: rw, ops: []history.Operation{got, other, busy, reads, reads}, never: "a hold beyond its lease, a refused release, readers at once"},
		{name: "two read, and one is late", header: rw, ops: []history.Operation{got, other, busy, reads, also, long}, never: "a refused release"},
		{name: "a watchdog", header: history.Header{Renews: true}, ops: []history.Operation{got, other, busy}, commands: sent, never: "a refused release"},
		{name: "commands of no known operation", header: history.Header{Renews: true}, ops: []history.Operation{got, other, busy}, commands: sent[1:], never: "a refused release, an extend or a renewal"},
	} {
		if got := history.Reached(history.Recorded{Header: row.header, Ops: row.ops, Commands: row.commands}, row.windows, row.plan); strings.Join(got.Never(), ", ") != row.never {
			t.Errorf("%s: never %q, want %q", row.name, got.Never(), row.never)
		}
	}
}

func TestReachOfSeveral(t *testing.T) {
	sum := history.Reach(nil).Add(history.Reach{"a": 0, "b": 0}).Add(history.Reach{"b": 2, "c": 0})
	if sum["b"] != 2 || !slices.Equal(sum.Never(), []string{"a", "c"}) {
		t.Errorf("sum %v", sum)
	}
}
