package history_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/history"
)

// A row per state of a client at the end of a truncated record, with the unknown operations that
// follow.
func TestCut(t *testing.T) {
	grant := func(client, token string, at int64) history.Operation {
		return history.Operation{Client: client, Key: "k", Op: history.Acquire, Outcome: history.OK, Token: token, Call: at, Return: at + 1}
	}
	release := func(client, token string, at int64) history.Operation {
		return history.Operation{Client: client, Key: "k", Op: history.Release, Outcome: history.OK, Token: token, Call: at, Return: at + 1}
	}
	write := func(client string, at int64) history.Operation {
		return history.Operation{Client: client, Key: "k", Op: history.Write, Outcome: history.OK, Read: 1, Wrote: 2, HasValue: true, Call: at, Return: at + 1}
	}
	perhaps := func(client string, op history.Op, token string, at int64) history.Operation {
		return history.Operation{Client: client, Key: "k", Op: op, Outcome: history.Unknown, Token: token, Call: at, Return: at}
	}
	for _, row := range []struct {
		about string
		ops   []history.Operation
		want  []history.Operation
	}{
		{"nothing", nil, nil},
		{"a holder may have released and acquired again", []history.Operation{grant("a", "t", 1)},
			[]history.Operation{perhaps("a", history.Release, "t", 2), perhaps("a", history.Acquire, "", 2)}},
		{"a client that released may have acquired again", []history.Operation{grant("a", "t", 1), release("a", "t", 5)},
			[]history.Operation{perhaps("a", history.Acquire, "", 6)}},
		{"a release ends the hold of its token", []history.Operation{grant("a", "s", 1), grant("a", "t", 3), release("a", "s", 5)},
			[]history.Operation{perhaps("a", history.Release, "t", 6), perhaps("a", history.Acquire, "", 6)}},
		{"where one has written, each may have", []history.Operation{write("a", 1), release("b", "u", 3)}, []history.Operation{
			perhaps("a", history.Acquire, "", 2), perhaps("a", history.Write, "", 2),
			perhaps("b", history.Acquire, "", 4), perhaps("b", history.Write, "", 4)}},
		{"each client from its own last return", []history.Operation{grant("b", "u", 9), grant("a", "t", 1)}, []history.Operation{
			perhaps("a", history.Release, "t", 2), perhaps("a", history.Acquire, "", 2),
			perhaps("b", history.Release, "u", 10), perhaps("b", history.Acquire, "", 10)}},
	} {
		source := history.NewCut(history.NewSlice(row.ops))
		var got []history.Operation
		for {
			var op history.Operation
			err := source.Next(&op)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, op)
		}
		if diff := cmp.Diff(append(row.ops[:len(row.ops):len(row.ops)], row.want...), got); diff != "" {
			t.Errorf("%s:\n%s", row.about, diff)
		}
	}
}
