package search

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// TestExploreSurvivesBadLocks: what a lock does to its process is a finding, and does not end the
// search.
func TestExploreSurvivesBadLocks(t *testing.T) {
	rows := []struct {
		lock  string
		says  string
		prop  verdicts.Property
		again bool // it may run in this process
	}{
		{"panics", "the lock is broken", verdicts.Progress, true},                  // in the client's own goroutine
		{"crashes", "a goroutine of the lock is broken", verdicts.Progress, false}, // in one of its own: the process dies
		{"spins", "search.spin (bad_test.go", verdicts.Progress, false},            // time never passes
		{"locks", "search.lockTwice (bad_test.go", verdicts.Progress, true},        // time never passes, and no goroutine runs
		{"leaves", "left behind", verdicts.Hygiene, true},                          // a goroutine that nothing ends
		{"deadlock", "do not end", verdicts.Progress, true},                        // the client itself
	}
	for _, row := range rows {
		t.Run(row.lock, func(t *testing.T) {
			t.Parallel()
			p := program(t, "token", "hot", 1)
			p.Lock = row.lock
			p.Variant, _ = withBad{}.Find(row.lock)
			r, err := Explore(t.Context(), Config{Program: p, Schedules: 4, Workers: 1, Known: withBad{}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != "fail" || r.First == nil || r.First.Property != row.prop {
				t.Fatalf("result %+v, want a violation of %s", r, row.prop)
			}
			if text := strings.Join(r.First.Steps, "\n"); !strings.Contains(text, row.says) {
				t.Errorf("the story does not say %q:\n%s", row.says, text)
			}
			if (r.Tape.Hash != "") != row.again {
				t.Errorf("a tape with trace %q; want one: %v", r.Tape.Hash, row.again)
			}
		})
	}
}

// TestALockOfTheProcess: a lock that keeps a channel for all its objects, which must not be used in
// another bubble than its own, is not broken.
func TestALockOfTheProcess(t *testing.T) {
	p := program(t, "token", "hot", 1)
	p.Lock = "registry"
	p.Variant, _ = withBad{}.Find(p.Lock)
	r, err := Explore(t.Context(), Config{Program: p, Schedules: 8, Workers: 1, Known: withBad{}}, nil)
	if err != nil || r.First != nil || !strings.Contains(r.NotExplorable, "keeps in its process") {
		t.Errorf("%v %+v", err, r)
	}
}

// TestExploreFindsShrinksAndReplays covers a finding from search to tape: found by two workers,
// shrunk, replayed, written and read.
func TestExploreFindsShrinksAndReplays(t *testing.T) {
	v, _ := catalogue.Find("setnx-expire")
	var told int
	r, err := Explore(t.Context(), Config{
		Program: sim.DefaultProgram(v), Bounds: sim.Bounds{Faults: sim.DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Workers: 2, Budget: 20 * time.Second,
	}, func(Stats) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if r.First == nil {
		t.Fatalf("nothing found: %+v", r)
	}
	s := sim.New(catalogue.Known{})
	defer s.Close()
	if _, err := s.Replay(r.Tape); err != nil {
		t.Fatal(err)
	}
	small, err := Shrink(t.Context(), s, r.Tape, Tries)
	if err != nil {
		t.Fatal(err)
	}
	if small.Property != r.First.Property || small.Cause != r.First.Cause {
		t.Errorf("shrunk to another violation: %s/%s, was %s/%s", small.Property, small.Cause, r.First.Property, r.First.Cause)
	}
	if len(small.Choices) > len(r.Tape.Choices) || len(small.Steps) > maxStory {
		t.Errorf("shrunk from %d choices to %d, a story of %d lines; want at most %d", len(r.Tape.Choices), len(small.Choices), len(small.Steps), maxStory)
	}
	var file bytes.Buffer
	if _, err := small.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	read, err := sim.ReadTape(&file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Replay(read)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Trace) == 0 {
		t.Error("a replay has no trace")
	}
}

// TestShrinkLeavesFaultsOut: a fault of the program that plays no part goes.
func TestShrinkLeavesFaultsOut(t *testing.T) {
	v, _ := catalogue.Find("exists-set")
	p := sim.DefaultProgram(v)
	p.Faults = []faults.Spec{{Fault: faults.LoseReply, Client: 1, When: faults.Trigger{Reply: "release", Nth: 1}}}
	r, err := Explore(t.Context(), Config{Program: p, Workers: 1, Schedules: 200}, nil)
	if err != nil || r.First == nil {
		t.Fatalf("nothing found: %+v, %v", r, err)
	}
	s := sim.New(catalogue.Known{})
	defer s.Close()
	small, err := Shrink(t.Context(), s, r.Tape, Tries)
	if err != nil || len(small.Program.Faults) > 0 {
		t.Errorf("the shrunk tape has the faults %+v, %v", small.Program.Faults, err)
	}
}

// maxStory is how long the story of a shrunk tape may be.
const maxStory = 12

// TestExhaustedIsSaidOfAllWorkers: a walk within its bounds ends, and reports that it is exhausted.
func TestExhaustedIsSaidOfAllWorkers(t *testing.T) {
	r, err := Explore(t.Context(), Config{
		Program: program(t, "token", "hot", 1), Bounds: sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1}, Strategy: Exhaustive, Workers: 2,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Exhausted || r.Verdict != "pass" || r.Schedules < 100 {
		t.Errorf("%+v, want an exhausted walk that passes", r)
	}
}

// TestSearchesThatShowNothing: a lock that sends what the simulator does not do as Redis does
// cannot be explored, and a search of one that does without something is inconclusive if it finds
// nothing.
func TestSearchesThatShowNothing(t *testing.T) {
	s := newSimulator(t)
	streams := sim.DefaultProgram(impls.Variant{Name: "lock", Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
		return badLock{func() { env.Redis().Do(context.Background(), "XADD", "k", "*", "f", "v") }}, nil
	}})
	r, err := Here(t.Context(), Config{Program: streams, Schedules: 10}, []sim.Runner{s}, nil)
	if want := "not explorable: lock sends XADD, which the simulator does not do as Redis does"; err != nil || r.Verdict != checker.Inconclusive || r.Reason != want {
		t.Errorf("%v, %s, %q; want inconclusive, %q", err, r.Verdict, r.Reason, want)
	}
	for lock, lacks := range map[string]bool{"rueidislock": true, "rueidislock-normalised": true, "token": false, "redsync": false} {
		v, _ := catalogue.Find(lock)
		p := sim.DefaultProgram(v)
		p.Load, p.Config.Pause, p.Config.Ops = "hot", 0, 2
		r, err := Here(t.Context(), Config{Program: p, Schedules: 1}, []sim.Runner{s}, nil)
		if err != nil || (r.Verdict == checker.Inconclusive) != lacks || strings.Contains(r.Reason, "asks for CLIENT TRACKING") != lacks {
			t.Errorf("%s: %v, %s, %q", lock, err, r.Verdict, r.Reason)
		}
	}
}

// TestSearchEndsBehindItsFirstFinding: whichever worker is quicker, the finding with the lowest
// number is reported.
func TestSearchEndsBehindItsFirstFinding(t *testing.T) {
	ended := false
	e := &exploration{at: []int{-1, -1}, cancel: func() { ended = true }}
	steps := []struct {
		what string
		do   func()
		ends bool
	}{
		{"the quick worker finds something", func() { e.begun(1, 11); e.found(finding{Schedule: 11}) }, false},
		{"the slow one is not as far", func() { e.begun(0, 10) }, false},
		{"it finds something, too", func() { e.found(finding{Schedule: 10}) }, true},
	}
	for _, s := range steps {
		if s.do(); ended != s.ends {
			t.Errorf("%s: the search has ended: %v, want %v", s.what, ended, s.ends)
		}
	}
	if e.first.Schedule != 10 {
		t.Errorf("reported schedule %d, want 10", e.first.Schedule)
	}
	ended, e = false, &exploration{at: []int{-1, 4}, cancel: func() { ended = true }}
	e.found(finding{Schedule: 4})
	if e.begun(0, math.MaxInt); !ended {
		t.Error("a worker that is done holds the search up")
	}
}

// searched explores a defective lock for what is sought, and returns what was found.
func searched(t *testing.T, strategy string, workers int, shard Shard, seek ...string) Result {
	t.Helper()
	v, _ := catalogue.Find("set-nx-ex")
	cfg := Config{Program: sim.DefaultProgram(v), Bounds: sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1}, Strategy: strategy,
		Workers: workers, Schedules: 50, Seek: seek, Shard: shard, Known: catalogue.Known{}}
	if strategy == Exhaustive {
		cfg.Schedules, cfg.Program.Config.Ops, cfg.Program.Clients = 0, 1, 2
	}
	r, err := Explore(t.Context(), cfg, nil)
	if err != nil || r.Reason != "" {
		t.Fatalf("shard %v: %v %s", shard, err, r.Reason)
	}
	return r
}

// TestShardsOfASearch: shards together cover what one search covers, even if one machine has more
// workers than another.
func TestShardsOfASearch(t *testing.T) {
	for _, strategy := range []string{Mixed, Exhaustive} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			const nothing = "nothing" // is sought: the search goes on
			whole := searched(t, strategy, 1, Shard{}, nothing)
			var schedules, steps int
			violated, first := map[string]int{}, -1
			for i := range 3 {
				shard := Shard{Index: i + 1, Count: 3}
				r := searched(t, strategy, 1+i%2, shard, nothing)
				schedules, steps = schedules+r.Schedules, steps+r.Steps
				for what, n := range r.Violated {
					violated[what] += n
				}
				if f := searched(t, strategy, 1+i%2, shard).First; f != nil && (first < 0 || f.Schedule < first) {
					first = f.Schedule
				}
			}
			if len(whole.Violated) == 0 {
				t.Fatalf("the whole search found nothing: %+v", whole)
			}
			if strategy == Exhaustive { // both shards explore states that both reach, so only the findings are the same
				for what := range whole.Violated {
					if violated[what] == 0 {
						t.Errorf("no shard saw %s; they saw %v", what, violated)
					}
				}
				return
			}
			if want := searched(t, strategy, 1, Shard{}).First.Schedule; schedules != 50 || steps != whole.Steps || first != want {
				t.Errorf("%d schedules of %d steps, first finding %d; the whole has 50 of %d, first %d", schedules, steps, first, whole.Steps, want)
			}
			for what, n := range whole.Violated {
				if violated[what] != n {
					t.Errorf("%s: %d in the shards, %d in the whole", what, violated[what], n)
				}
			}
		})
	}
}

func TestShareOfAShard(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 50} {
		sum := 0
		for i := range 8 {
			sum += Shard{Index: i + 1, Count: 8}.of(n)
		}
		if sum != n {
			t.Errorf("eight shards have %d of %d schedules", sum, n)
		}
	}
}

// TestTotalsAreOfOneMoment: a search that runs beside others in one process goes on counting while
// the totals of all are read.
func TestTotalsAreOfOneMoment(t *testing.T) {
	e := &exploration{parts: make([]progress, 1), report: func(Stats) {}}
	p := progress{Violated: map[string]int{}, Excepted: map[string]int{}, Reached: history.Reach{}}
	e.record(0, p)
	p.Violated["exclusive-use"]++
	p.Excepted["exclusive-use"]++
	p.Reached["a wait"]++
	if all := e.sum(); len(all.Violated)+len(all.Excepted)+len(all.Reached) > 0 {
		t.Errorf("totals %+v, want what was recorded", all)
	}
}
