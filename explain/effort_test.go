package explain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
)

// counting is a server that counts the commands that it executes.
type counting struct {
	*sim.Server
	executed int
	enough   func(executed int) // called before each
}

func (c *counting) Do(at time.Time, args []string) []byte {
	c.enough(c.executed)
	c.executed++
	return c.Server.Do(at, args)
}

// TestSearchGivesUp: on a busy machine most requests of a client with a short timeout get no reply, and each may have been executed at any later
// time. If they don't explain the other replies, the search ends after a number of executions that is proportional to the commands.
func TestSearchGivesUp(t *testing.T) {
	v, rec, node := unexplained(t)
	server := &counting{Server: node, enough: func(int) {}}
	findings(t, v, rec, server)
	if most := 150 * len(rec.Commands); len(v.Violations) == 0 || server.executed > most {
		t.Errorf("%d violations; %d executions for %d commands, want at most %d", len(v.Violations), server.executed, len(rec.Commands), most)
	}
}

// TestSearchEndsWithItsContext: no command is executed after it.
func TestSearchEndsWithItsContext(t *testing.T) {
	v, rec, node := unexplained(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := &counting{Server: node, enough: func(executed int) {
		if executed == 100 {
			cancel()
		}
	}}
	if _, err := explain.Verdict(ctx, v, rec, server); !errors.Is(err, context.Canceled) || server.executed != 101 {
		t.Errorf("%d executions, error %v", server.executed, err)
	}
}

// unexplained returns a record with a violation and with replies that no order explains.
func unexplained(t *testing.T) (*checker.Verdict, explain.Record, *sim.Server) {
	t.Helper()
	const ms = 1_000_000
	node, err := sim.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	rec := explain.Record{
		Header: history.Header{Kind: history.Mutex, Permits: 1, Lease: 20 * ms},
		Ops: []history.Operation{
			{ID: 1, Client: "c1", Op: history.Acquire, Key: "job", Call: 0, Return: 2 * ms, Outcome: history.OK},
			{ID: 2, Client: "c2", Op: history.Acquire, Key: "job", Call: 10 * ms, Return: 12 * ms, Outcome: history.OK},
		},
	}
	for i := range int64(300) {
		lost := history.Command{Client: "c3", Op: 3, Sent: i * 10 * ms, Name: "SET", Args: []string{fmt.Sprint("job", i%8), fmt.Sprint("t", i)}}
		look := history.Command{Client: "c4", Op: 4, Sent: (i*10 + 4) * ms, Replied: (i*10 + 6) * ms, Name: "GET", Args: []string{"job"}, Reply: "(nil)"}
		if i%12 == 11 {
			look.Reply = `"nobody's"`
		}
		rec.Commands = append(rec.Commands, lost, look)
	}
	v, err := checker.Check(t.Context(), checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands}, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v, rec, node
}
