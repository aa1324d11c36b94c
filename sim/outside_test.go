package sim

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// TestWhoRenewsWithoutAHold: of the commands that were recorded outside the simulator, those count that let a key last longer for a client without a
// hold. One that comes with a release under way, or shortens what is there, does not.
func TestWhoRenewsWithoutAHold(t *testing.T) {
	const ms, lease = int64(time.Millisecond), 100 * time.Millisecond
	op := func(client string, what history.Op, call int64) history.Operation {
		return history.Operation{Client: client, Op: what, Key: "job", Call: call * ms, Return: (call + 2) * ms, Outcome: history.OK}
	}
	request := func(client string, conn uint64, at int64, reply, name string, args ...string) history.Command {
		return history.Command{Client: client, Conn: conn, Sent: at*ms + ms/2, Replied: (at + 1) * ms, Name: name, Args: args, Reply: reply}
	}
	for _, row := range []struct {
		name  string
		renew history.Command
		found bool
	}{
		{"another's hold", request("c1", 2, 80, "1", "PEXPIRE", "job", "100"), true},
		{"its own", request("c1", 2, 20, "1", "PEXPIRE", "job", "100"), false},
		{"its own, while it releases", request("c1", 2, 41, "1", "PEXPIRE", "job", "100"), false},
		{"shortened", request("c1", 2, 80, "1", "PEXPIRE", "job", "10"), false},
		{"nothing", request("c1", 2, 50, "0", "PEXPIRE", "job", "100"), false},
	} {
		rec := history.Recorded{Header: history.Header{Kind: history.Mutex, Lease: int64(lease), Permits: 1},
			Ops: []history.Operation{op("c1", history.Acquire, 0), op("c1", history.Release, 40), op("c2", history.Acquire, 60)},
			Commands: []history.Command{
				request("c1", 1, 0, "OK", "SET", "job", "t1", "NX", "PX", "100"), request("c1", 1, 40, "1", "DEL", "job"),
				request("c2", 3, 60, "OK", "SET", "job", "t2", "NX", "PX", "100"), row.renew},
		}
		for i := range rec.Ops {
			rec.Ops[i].ID = uint64(i + 1)
		}
		tape := Tape{Program: Program{Config: workloads.Config{Lease: lease}}, Property: verdicts.Progress}
		story, err := tape.Unshown(impls.Variant{Kind: history.Mutex}, rec, nil)
		if found := len(story) > 0; err != nil || found != row.found {
			t.Errorf("%s: %q %v, want found: %v", row.name, story, err, row.found)
		}
	}
}
