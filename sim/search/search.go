// Package search looks for schedules in which a lock breaks: it runs many schedules of a program
// (package sim), judges each (package judge, and what no operation shows: goroutines left behind,
// clients that never end, renewals without a hold), and shrinks the tape of one that breaks.
//
// Not every violation is a finding: those of a client that outlived its lease, or whose own
// messages were delayed, are excused. [Explore] searches in worker processes, so that a crash, a
// deadlock or an endless loop of the lock under test is a finding and does not end lockbench;
// [Here] searches in this process, also in worlds outside the simulator; [Shrink] minimizes a
// failing tape. It reports no latencies, because time is virtual.
//
// Where to look: search (one schedule after the other), job and draw (what a schedule draws),
// explore, exploration and worker (several searches that share the schedules), shrink, tape (one
// tape again); what was found: broken, judge, liveness, story. No file uses what stands above it.
package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

type finding struct {
	Schedule int      `json:"schedule"`
	Broken   broken   `json:"broken"`
	Tape     sim.Tape `json:"tape"`
}

// progress is what a worker tells of its part of a search.
type progress struct {
	Stats                    // without Elapsed and Findings, which its owner knows
	Pruned    int            `json:"pruned"`
	Violated  map[string]int `json:"violated,omitempty"` // number of schedules by violation, "property/cause"
	Excepted  map[string]int `json:"excepted,omitempty"` // the same, of those that no lease can prevent
	Reached   history.Reach  `json:"reached,omitempty"`  // schedules by what each reached
	Errors    checker.Errors `json:"errors"`
	Exhausted bool           `json:"exhausted,omitempty"`
	// states of a walk that could not be pruned: a connection watched keys
	Unhashed int    `json:"unhashed,omitempty"`
	Lacking  string `json:"lacking,omitempty"` // what the lock requested and did without
	// why the lock cannot be explored, which ended the search
	Unexplorable string `json:"unexplorable,omitempty"`
	Why          string `json:"why,omitempty"` // why a walk that ended has not covered everything
}

// line is what a search tells as it goes on; a worker writes each as a line of JSON. A schedule is
// announced before it runs, so that one that kills the process is known.
type line struct {
	Begin    *int        `json:"begin,omitempty"`
	Prefix   []int       `json:"prefix,omitempty"`
	Choice   *sim.Choice `json:"choice,omitempty"`
	Finding  *finding    `json:"finding,omitempty"`
	Progress *progress   `json:"progress,omitempty"` // after each schedule
	Done     bool        `json:"done,omitempty"`
	Error    string      `json:"error,omitempty"`
}

// search runs the schedules of a job in this process, one after the other.
type search struct {
	job    searchJob
	host   sim.Runner
	length int // number of steps of the default schedule
	walk   *sim.Walk
	judge  func(ctx context.Context, out sim.Outcome, stories bool) ([]broken, history.Reach, error)
	causes explainer
	only   func(broken) bool // selects the findings

	progress progress
	tell     func(line) // called as the search goes on
}

func newSearch(j searchJob, h sim.Runner) (*search, error) {
	p, err := j.Program.Resolve(h.Catalogue())
	if err != nil {
		return nil, err
	}
	j.Program = p
	j.Bounds = j.Bounds.WithDefaults(p)
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &search{job: j, host: h, only: j.seeks, tell: func(line) {}}
	s.judge = s.causes.judge
	s.progress.Violated, s.progress.Excepted, s.progress.Reached = map[string]int{}, map[string]int{}, history.Reach{}
	if j.Strategy == Exhaustive {
		s.job.Bounds.Instant = true
		s.walk = sim.NewWalk(j.Part, j.Parts, j.Prefix)
	}
	return s, nil
}

// run searches until the job is done, a finding ends it, or ctx ends.
func (s *search) run(ctx context.Context) error {
	defer s.causes.Close()
	if s.walk == nil {
		out, err := s.host.Schedule(s.job.Program, sim.ByDefault{}, sim.Bounds{}, false)
		if err != nil {
			return err
		}
		if s.length = out.Steps; s.unexplorable(out) {
			return nil // a mutex of the process may stay locked: what follows would look like a deadlock
		}
	}
	for n := s.job.First; s.job.Schedules == 0 || n < s.job.First+s.job.Schedules; n += max(s.job.Parts, 1) {
		if ctx.Err() != nil {
			return nil
		}
		if s.walk != nil && !s.walk.Next() {
			if s.walk.Broken {
				s.progress.Why = notDeterministic
			}
			s.progress.Exhausted = s.progress.Why == ""
			return nil
		}
		done, err := s.one(ctx, n)
		if err != nil || done {
			return err
		}
	}
	return nil
}

// one runs and judges one schedule; it returns true if that ends the search.
func (s *search) one(ctx context.Context, n int) (done bool, err error) {
	c, begins := s.job.draw(n, s.length), line{Begin: &n}
	if s.walk != nil {
		c.strategy, begins.Prefix = s.walk, s.walk.Prefix()
	}
	s.tell(begins)
	out, err := s.host.Schedule(c.program, c.strategy, c.bounds, false)
	if err != nil {
		return true, err
	}
	s.count(out)
	if s.unexplorable(out) {
		return true, nil
	}
	defer func() { s.tell(line{Progress: &s.progress}) }()
	if out.Pruned {
		return false, nil
	}
	all, judged, err := s.judge(context.WithoutCancel(ctx), out, false)
	if err != nil {
		return true, err
	}
	s.progress.Reached.Add(judged)
	done, err = s.note(ctx, n, c.bounds, out, all)
	// If a walk's schedule does not end a second time as before, the walk cannot have covered
	// everything: what a lock's goroutines do at one instant is not a decision of the walk, and may be
	// the runtime's, such as which of two ready cases a select takes.
	if err == nil && !out.Endless && s.walk != nil && n/max(s.job.Parts, 1)%againEvery == 0 {
		c.strategy = sim.NewWalk(s.job.Part, s.job.Parts, s.walk.Prefix())
		var second sim.Outcome
		if second, err = s.host.Schedule(c.program, c.strategy, c.bounds, false); err == nil && second.Hash != out.Hash {
			s.progress.Why = notDeterministic
		}
	}
	return done || out.Endless, err
}

// againEvery is how many schedules of a walk come to one that is run a second time.
const againEvery = 8

// notDeterministic says why a walk has not covered everything.
const notDeterministic = "the same choices did not always lead to the same: the program is not deterministic"

// unexplorable reports whether an outcome says that the lock cannot be explored, which ends the
// search, and records why.
func (s *search) unexplorable(out sim.Outcome) bool {
	if out.Unexplorable {
		s.progress.Unexplorable = "not explorable: " + out.Crash
	}
	return out.Unexplorable
}

func (s *search) count(out sim.Outcome) {
	p, traits := out.Program, out.Program.Variant.Traits
	could := history.Prospect{Waits: p.Config.AcquireWait > 0, Poll: int64(p.Poll), Extends: traits.Extends, TellsLosses: traits.NotifiesLoss}
	if s.job.Bounds.MaxFaults > 0 {
		could.Faults = s.job.Bounds.Faults
	}
	s.progress.Reached.Add(history.Reached(out.Recorded, out.Windows, could))
	s.progress.Errors.CountAll(out.Ops, out.Windows)
	s.progress.Schedules++
	s.progress.Steps += out.Steps
	s.progress.Virtual += out.Virtual
	s.progress.Lacking = cmp.Or(s.progress.Lacking, out.Lacking)
	if s.walk != nil {
		s.progress.States, s.progress.Pruned, s.progress.Unhashed = s.walk.States(), s.walk.Pruned, s.walk.Unhashed
		if out.Steps > s.job.Bounds.MaxSteps {
			s.progress.Why = fmt.Sprintf("a schedule has more than %d events, behind which one order was run", s.job.Bounds.MaxSteps)
		}
	}
}

func (s *search) note(ctx context.Context, n int, bounds sim.Bounds, out sim.Outcome, all []broken) (done bool, err error) {
	seen := map[string]bool{}
	for _, b := range all {
		if seen[b.key()] {
			continue
		}
		seen[b.key()] = true
		if b.Excepted {
			s.progress.Excepted[b.key()]++
		} else {
			s.progress.Violated[b.key()]++
		}
	}
	// The finding is the first that blames the lock itself, or else the first: two clients inside at
	// once may be the result of a stall that no lock prevents, in a schedule that shows a bug of the
	// lock later.
	i := slices.IndexFunc(all, func(b broken) bool {
		return s.only(b) && b.Property != verdicts.ExclusiveUse && b.Property != verdicts.StoreIntegrity
	})
	if i < 0 {
		i = slices.IndexFunc(all, s.only)
	}
	if i < 0 {
		return false, nil
	}
	b := all[i]
	told, _, err := s.judge(context.WithoutCancel(ctx), out, true) // again, for the story
	if x, ok := withKey(told, b.key()); ok {
		b = x
	}
	s.tell(line{Finding: &finding{n, b, newTape(out, bounds, b)}})
	return true, err
}

// newTape returns the tape of a violation. That of an endless loop has no trace: it is not for
// replays, which would not end.
func newTape(out sim.Outcome, bounds sim.Bounds, b broken) sim.Tape {
	t := out.Tape(bounds)
	t.Property, t.Cause, t.Steps = b.Property, b.Cause, b.Story
	if out.Endless {
		t.Hash = ""
	}
	return t
}

// Stats is the progress of an exploration.
type Stats struct {
	Schedules int           `json:"schedules"`
	Steps     int           `json:"steps"`
	States    int           `json:"states"` // distinct states, in an exhaustive search
	Virtual   time.Duration `json:"virtual"`
	Elapsed   time.Duration `json:"-"`
	Findings  int           `json:"-"`
}
