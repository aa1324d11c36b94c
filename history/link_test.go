package history_test

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestLinkedToTheKindThatSendsIt: a renewal that is under way when the client releases keeps its second command, and the release its own.
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
		{84, "EVALSHA", "renew", 5}, // only the release is under way
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
