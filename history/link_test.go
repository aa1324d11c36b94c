package history_test

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestLinkedToTheKindThatSendsIt: a renewal that is under way when the client releases keeps its
// second command, and the release its own.
func TestLinkedToTheKindThatSendsIt(t *testing.T) {
	ops := []history.Operation{
		{ID: 1, Client: "c1", Op: history.Acquire, Call: 0, Return: 10},
		{ID: 2, Client: "c1", Op: history.Extend, Call: 20, Return: 30},
		{ID: 3, Client: "c1", Op: history.Release, Call: 40, Return: 50},
		{ID: 4, Client: "c1", Op: history.Extend, Call: 60, Return: 80},
		{ID: 5, Client: "c1", Op: history.Release, Call: 65, Return: 85},
		{ID: 6, Client: "c1", Op: history.Extend, Call: 90, Return: 110},
		{ID: 7, Client: "c1", Op: history.Release, Call: 95, Return: 115},
	}
	rows := []struct {
		sent         int64
		name, script string
		op           uint64
	}{
		{5, "SET", "", 1},
		{15, "EVALSHA", "renew", 0}, // in the background
		{25, "EVALSHA", "renew", 2},
		{45, "EVALSHA", "release", 3},
		{62, "EVALSHA", "renew", 4},
		{70, "EVAL", "renew", 4},
		{72, "EVALSHA", "release", 5},
		{84, "EVALSHA", "renew", 0}, // only the release is under way, and renewals are sent as often in the background
		{100, "GET", "", 7},         // nobody is known to send it
	}
	var commands []history.Command
	for _, r := range rows {
		commands = append(commands, history.Command{Client: "c1", Sent: r.sent, Name: r.name, Script: r.script})
	}
	history.LinkCommands(ops, commands)
	for i, r := range rows {
		if commands[i].Op != r.op {
			t.Errorf("%s %s sent at %d: operation %d, want %d", r.name, r.script, r.sent, commands[i].Op, r.op)
		}
	}
}

// TestWatchdogDuringAWait: what a client sends as often while it waits as while it does nothing is
// not the waiting acquire's; what an acquire sends while it polls is, even if one such request left
// after its client had given up.
func TestWatchdogDuringAWait(t *testing.T) {
	const ms = 1_000_000
	ops := []history.Operation{
		{ID: 1, Client: "c1", Op: history.Acquire, Call: 0, Return: 1 * ms},
		{ID: 2, Client: "c1", Op: history.Release, Call: 100 * ms, Return: 101 * ms},
		{ID: 3, Client: "c1", Op: history.Acquire, Call: 400 * ms, Return: 900 * ms},
		{ID: 4, Client: "c1", Op: history.Acquire, Call: 1000 * ms, Return: 1001 * ms},
	}
	var commands []history.Command
	var want []uint64
	send := func(at int64, script string, op uint64) {
		commands = append(commands, history.Command{Client: "c1", Sent: at, Name: "EVALSHA", Script: script})
		want = append(want, op)
	}
	send(0, "take", 1)
	send(100*ms, "release", 2)
	for at := int64(30 * ms); at < 1000*ms; at += 30 * ms {
		send(at, "renew", 0)
	}
	for at := int64(400 * ms); at < 900*ms; at += 50 * ms {
		send(at, "take", 3)
		send(at+1, "position", 3) // never the first command of an acquire
	}
	send(901*ms, "take", 0)
	send(50*ms, "take", 0)
	// to the guarded store, by a script of the same name: it says nothing of acquires
	commands[len(commands)-1].Node = -1
	send(950*ms, "take", 0)
	commands[len(commands)-1].Node = -1
	send(1000*ms, "take", 4)
	history.LinkCommands(ops, commands)
	for i, op := range want {
		if c := commands[i]; c.Op != op {
			t.Errorf("%s sent at %d ms: operation %d, want %d", c.Script, c.Sent/ms, c.Op, op)
		}
	}
}
