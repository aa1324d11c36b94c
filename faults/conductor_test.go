package faults

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
)

// order lets clients come to moments at the times that they are given, under a conductor, and gives the order in which they went on.
func order(t *testing.T, score Score, comes map[string]time.Duration) (went []string, o Order, took time.Duration) {
	t.Helper()
	start := time.Now()
	c := NewConductor(score, func() int64 { return int64(time.Since(start)) }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var conducted, clients sync.WaitGroup
	conducted.Go(func() { c.Run(ctx, Field{}, nil) })
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
	conducted.Wait()
	return went, c.Order(), took
}

func entered(id int, client string, at time.Duration) Step {
	return Step{ID: id, Kind: StepMoment, Client: client, Command: "entered", At: int64(at)}
}

func TestConductorGivesTurns(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name  string
		score Score
		comes map[string]time.Duration
		want  string
		left  string
		took  time.Duration
	}{
		{"in the order of the score, whoever comes first", Score{entered(1, "c2", 0), entered(2, "c1", ms)},
			map[string]time.Duration{"c1": 0, "c2": 10 * ms}, "c2 c1", "", 11 * ms},
		{"not before as much time has passed", Score{entered(1, "c1", 0), entered(2, "c2", 700*ms)},
			map[string]time.Duration{"c1": 10 * ms, "c2": 10 * ms}, "c1 c2", "", 710 * ms},
		{"a late one moves those after it", Score{entered(1, "c1", 0), entered(2, "c2", 100*ms), entered(3, "c3", 200*ms)},
			map[string]time.Duration{"c1": 0, "c2": 300 * ms, "c3": 0}, "c1 c2 c3", "", 400 * ms},
		{"one that the score does not know waits until it is over", Score{entered(1, "c1", 500*ms), entered(2, "c2", 900*ms)},
			map[string]time.Duration{"c1": 0, "c2": 0, "c3": 0}, "c1", "", 400 * ms},
		{"one that does not come ends the order", Score{entered(1, "c1", 0), entered(2, "c2", 0), entered(3, "c3", 0)},
			map[string]time.Duration{"c1": 0, "c3": 0}, "c1 c3",
			"the real run left the tape at step 2 of 3: expected c2 entered, saw c3 entered for 3s", scorePatience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				went, o, took := order(t, tt.score, tt.comes)
				if !strings.HasPrefix(strings.Join(went, " "), tt.want) || o.Left != tt.left || took != tt.took {
					t.Errorf("went %v after %v, %+v; want %s after %v, %q", went, took, o, tt.want, tt.took, tt.left)
				}
				if o.Left == "" && o.Passed != len(tt.score) {
					t.Errorf("%d of %d steps passed", o.Passed, o.Steps)
				}
			})
		})
	}
}

// A failover loses what the replica had not taken over: replication ends where it took over the last.
func TestPlayableScore(t *testing.T) {
	step := func(id int, kind StepKind, fault string) Step {
		return Step{ID: id, Kind: kind, At: int64(id), Fault: Spec{Fault: fault}}
	}
	score := Score{step(1, StepRequest, ""), step(2, StepReplicate, ""), step(3, StepReply, ""), step(4, StepRequest, ""),
		step(5, StepBegin, Failover), step(6, StepEnd, Failover), step(7, StepBegin, DeleteKey)}
	var got []int
	for _, s := range score.Playable() {
		got = append(got, s.ID)
	}
	if want := []int{1, 5, 3, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}
