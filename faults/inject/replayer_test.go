package inject

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// order makes clients reach moments at given times, under a replayer, and returns the order in
// which they went on.
func order(t *testing.T, schedule faults.Schedule, comes map[string]time.Duration) (went []string, o faults.Order, took time.Duration) {
	t.Helper()
	start := time.Now()
	c := NewReplayer(schedule, func() int64 { return int64(time.Since(start)) })
	ctx, cancel := context.WithCancel(t.Context())
	var replays, clients sync.WaitGroup
	replays.Go(func() { c.Run(ctx, nil) })
	var mu sync.Mutex
	for name, after := range comes {
		clients.Go(func() {
			time.Sleep(after)
			c.Moment(ctx, name, history.Entered)
			mu.Lock()
			defer mu.Unlock()
			went = append(went, name)
		})
	}
	clients.Wait()
	took = time.Since(start)
	cancel()
	replays.Wait()
	return went, c.Order(), took
}

func entered(id int, client string, at time.Duration) faults.Step {
	return faults.Step{ID: id, Kind: faults.StepMoment, Client: client, Command: "entered", At: int64(at)}
}

func TestReplayerGivesTurns(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		schedule faults.Schedule
		comes    map[string]time.Duration
		want     string
		left     string
		took     time.Duration
	}{
		{"in the order of the schedule, whoever comes first", faults.Schedule{entered(1, "c2", 0), entered(2, "c1", ms)},
			map[string]time.Duration{"c1": 0, "c2": 10 * ms}, "c2 c1", "", 11 * ms},
		{"not before as much time has passed", faults.Schedule{entered(1, "c1", 0), entered(2, "c2", 700*ms)},
			map[string]time.Duration{"c1": 10 * ms, "c2": 10 * ms}, "c1 c2", "", 710 * ms},
		{"a late one moves those after it", faults.Schedule{entered(1, "c1", 0), entered(2, "c2", 100*ms), entered(3, "c3", 200*ms)},
			map[string]time.Duration{"c1": 0, "c2": 300 * ms, "c3": 0}, "c1 c2 c3", "", 400 * ms},
		{"one that the schedule does not know waits until it is over", faults.Schedule{entered(1, "c1", 500*ms), entered(2, "c2", 900*ms)},
			map[string]time.Duration{"c1": 0, "c2": 0, "c3": 0}, "c1", "", 400 * ms},
		{"one that does not come ends the order", faults.Schedule{entered(1, "c1", 0), entered(2, "c2", 0), entered(3, "c3", 0)},
			map[string]time.Duration{"c1": 0, "c3": 0}, "c1 c3",
			"the real run left the tape at step 2 of 3: expected c2 entered, saw c3 entered for 3s", stepPatience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				went, o, took := order(t, tt.schedule, tt.comes)
				if !strings.HasPrefix(strings.Join(went, " "), tt.want) || o.Left != tt.left || took != tt.took {
					t.Errorf("went %v after %v, %+v; want %s after %v, %q", went, took, o, tt.want, tt.took, tt.left)
				}
				if o.Left == "" && o.Passed != len(tt.schedule) {
					t.Errorf("%d of %d steps passed", o.Passed, o.Steps)
				}
			})
		})
	}
}

// TestReplayerAddsNoTime: what a node takes for a request belongs to the schedule already, even if
// the node holds the reply for long.
func TestReplayerAddsNoTime(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name                string
		node, replied, took time.Duration
	}{
		// 2 ms after the turn is half-way to the schedule's reply
		{"a node that replies as it did", 2 * ms, 4 * ms, 80 * ms},
		{"a node whose reply was held", 60 * ms, 0, 80 * ms},
		{"a node that takes longer", 12 * ms, 4 * ms, 90 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := NewReplayer(faults.Schedule{
					{ID: 1, Kind: faults.StepRequest, Client: "c1", Command: "SET", Replied: int64(tt.replied)},
					entered(2, "c2", 80*ms),
				}, func() int64 { return int64(time.Since(start)) })
				var all sync.WaitGroup
				all.Go(func() { c.Run(t.Context(), nil) })
				m := &Message{Command: history.Command{Client: "c1", Name: "SET"}, Label: "SET"}
				all.Go(func() { c.Request(m); time.Sleep(tt.node); c.Reply(m) })
				c.Moment(t.Context(), "c2", history.Entered)
				took := time.Since(start)
				all.Wait()
				if took != tt.took || c.Order().Left != "" {
					t.Errorf("took %v, %+v; want %v", took, c.Order(), tt.took)
				}
			})
		})
	}
}

// TestReplayerEndsPauses: a run that leaves the schedule, or a schedule that ends first, leaves no
// client paused.
func TestReplayerEndsPauses(t *testing.T) {
	pause := faults.Step{ID: 1, Kind: faults.StepBegin, Client: "c1", Fault: faults.Spec{Fault: faults.PauseClient, Client: 1, For: faults.Span{Fixed: time.Minute}}}
	for name, schedule := range map[string]faults.Schedule{"the run leaves it": {pause, entered(2, "c2", 0)}, "it ends": {pause}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				now := func() int64 { return int64(time.Since(start)) }
				world, client := NewWorld(Config{Timeline: now}), NewGoroutine()
				world.Enlist(1, client)
				d := faults.NewDirector(faults.NewPlan(nil, time.Second, false), faults.DirectorConfig{World: world, Clients: 1})
				NewReplayer(schedule, now).Run(t.Context(), d)
				if w := d.Windows(); len(w) != 1 || !w[0].Confirmed || w[0].End == 0 {
					t.Errorf("windows %+v, want one pause that has ended", w)
				}
				if err := client.Pass(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
