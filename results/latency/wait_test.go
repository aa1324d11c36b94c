package latency_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/latency"
)

func op(client string, what history.Op, call, ret int64) history.Operation {
	return history.Operation{Client: client, Op: what, Key: "job", Call: call, Return: ret, Outcome: history.OK}
}

func TestSplitWait(t *testing.T) {
	// "+ 10" is the first client's own acquire, whose command is not listed.
	for _, tt := range []struct {
		name     string
		ops      []history.Operation
		commands []history.Command
		lease    int64
		want     latency.Wait
	}{
		{"alone: one round trip",
			[]history.Operation{op("c1", history.Acquire, 100, 200)},
			[]history.Command{{Client: "c1", Sent: 110, Replied: 190}}, 1000,
			latency.Wait{Acquires: 1, RoundTrips: 80, RetrySleep: 20}},
		{"behind a holder, then one round trip",
			[]history.Operation{op("c1", history.Acquire, 0, 10), op("c1", history.Release, 500, 510), op("c2", history.Acquire, 100, 700)},
			[]history.Command{{Client: "c2", Sent: 100, Replied: 150}, {Client: "c2", Sent: 600, Replied: 700}}, 10_000,
			latency.Wait{Acquires: 2, BehindHolder: 410, RoundTrips: 100, RetrySleep: 90 + 10}},
		{"the holder died: its lease ends the legitimate part",
			[]history.Operation{op("c1", history.Acquire, 0, 10), op("c2", history.Acquire, 100, 700)}, nil, 300,
			latency.Wait{Acquires: 2, BehindHolder: 210, RetrySleep: 390 + 10}},
		{"the holder extended",
			[]history.Operation{op("c1", history.Acquire, 0, 10), op("c1", history.Extend, 190, 200), op("c2", history.Acquire, 100, 700)}, nil, 300,
			latency.Wait{Acquires: 2, BehindHolder: 400, RetrySleep: 200 + 10}},
		{"a command without a reply is no round trip",
			[]history.Operation{op("c1", history.Acquire, 0, 100)},
			[]history.Command{{Client: "c1", Sent: 10}, {Client: "c1", Sent: 50, Replied: 100}}, 300,
			latency.Wait{Acquires: 1, RoundTrips: 50, RetrySleep: 50}},
		{"nothing was granted",
			[]history.Operation{{Client: "c1", Op: history.Acquire, Key: "job", Call: 1, Return: 9, Outcome: history.Busy}}, nil, 300,
			latency.Wait{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.GeneratorLag = 7
			if got := latency.SplitWait(tt.ops, tt.commands, tt.lease, 7); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestSplitWaitAddsUp: whatever the history, the parts add up to the whole and none is negative.
func TestSplitWaitAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ops []history.Operation
		var commands []history.Command
		var whole int64
		for _, client := range []string{"c1", "c2", "c3"} {
			now := int64(1)
			for range rapid.IntRange(0, 8).Draw(t, "n") {
				what := rapid.SampledFrom([]history.Op{history.Acquire, history.Extend, history.Release}).Draw(t, "op")
				call := now + rapid.Int64Range(0, 30).Draw(t, "gap")
				now = call + rapid.Int64Range(0, 60).Draw(t, "took")
				ops = append(ops, op(client, what, call, now))
				commands = append(commands, history.Command{Client: client, Sent: call, Replied: call + (now-call)/2})
				if what == history.Acquire {
					whole += now - call
				}
			}
		}
		w := latency.SplitWait(ops, commands, rapid.SampledFrom([]int64{0, 20, 500}).Draw(t, "lease"), 0)
		if w.Total() != whole || min(w.BehindHolder, w.RoundTrips, w.RetrySleep) < 0 {
			t.Fatalf("%+v adds up to %d, want %d", w, w.Total(), whole)
		}
	})
}

func TestHandOvers(t *testing.T) {
	for _, tt := range []struct {
		name string
		ops  []history.Operation
		want []int64 // milliseconds
	}{
		{"to a client that waited", []history.Operation{op("c1", history.Release, 500, 510), op("c2", history.Acquire, 100, 700)}, []int64{200}},
		{"granted before the release returned", []history.Operation{op("c1", history.Release, 500, 900), op("c2", history.Acquire, 100, 700)}, []int64{200}},
		{"to a client that came later: nobody waited", []history.Operation{op("c1", history.Release, 500, 510), op("c2", history.Acquire, 505, 700)}, nil},
		{"back to oneself", []history.Operation{op("c1", history.Release, 500, 510), op("c1", history.Acquire, 520, 700)}, nil},
		{"only the next grant counts", []history.Operation{op("c1", history.Release, 500, 510), op("c1", history.Acquire, 520, 600),
			op("c2", history.Acquire, 100, 700)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.ops { // the table is in milliseconds, so that the histogram's precision is enough
				tt.ops[i].Call *= ms
				tt.ops[i].Return *= ms
			}
			set := latency.NewSet(nil)
			set.AddHandOvers(tt.ops)
			got := set.Both(latency.HandOver, true)
			if got == nil {
				if len(tt.want) > 0 {
					t.Fatalf("none, want %v", tt.want)
				}
				return
			}
			if n := got.TotalCount(); n != int64(len(tt.want)) || !within(got.Max(), tt.want[0]*ms) {
				t.Errorf("%d samples, max %d; want %v", n, got.Max(), tt.want)
			}
		})
	}
}
