package history_test

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

func TestSettle(t *testing.T) {
	const mark, other = 1, 2 // operations
	changed := []history.DataChange{{Key: "job", After: &history.Datum{Value: "t1"}}}
	for _, row := range []struct {
		name     string
		err      string
		commands []history.Command
		effects  []history.Executed
		want     history.Outcome
	}{
		{"refused, then the context ended", "context deadline exceeded", []history.Command{{Op: mark, Name: "SET", Sent: 1, Replied: 2, Reply: "(nil)"}}, nil, history.Fail},
		{"the last request was not answered", "context deadline exceeded",
			[]history.Command{{Op: mark, Name: "SET", Sent: 1, Replied: 2, Reply: "(nil)"}, {Op: mark, Name: "SET", Sent: 3}}, nil, history.Unknown},
		{"it was answered when nobody waited any more", "i/o timeout", []history.Command{{Op: mark, Name: "SET", Sent: 1, Replied: 11, Reply: "(nil)"}}, nil, history.Unknown},
		{"answered otherwise, what it did is not recorded", "canceled", []history.Command{{Op: mark, Name: "EVAL", Sent: 1, Replied: 2, Reply: "4711"}}, nil, history.Unknown},
		{"answered otherwise, it changed nothing", "canceled", []history.Command{{Op: mark, Name: "EVAL", Sent: 1, Replied: 2, Reply: "4711"}}, []history.Executed{{Op: other, Changes: changed}}, history.Fail},
		{"granted, but the lock says otherwise", "canceled", []history.Command{{Op: mark, Name: "SET", Sent: 1, Replied: 2, Reply: "OK"}}, []history.Executed{{Op: mark, Changes: changed}}, history.Unknown},
		{"nothing was sent on a connection that is recorded", "canceled", nil, nil, history.Unknown},
		{"nothing was sent", "canceled", nil, []history.Executed{}, history.Fail},
		{"it did not return", "", []history.Command{{Op: mark, Name: "SET", Sent: 1, Replied: 2, Reply: "(nil)"}}, nil, history.Unknown},
	} {
		ops := []history.Operation{{ID: mark, Op: history.Acquire, Call: 0, Return: 10, Outcome: history.Unknown, Err: row.err}}
		if history.Settle(ops, row.commands, row.effects); ops[0].Outcome != row.want {
			t.Errorf("%s: %s, want %s", row.name, ops[0].Outcome, row.want)
		}
	}
}
