package sim

import (
	"context"
	"strconv"
	"time"
)

// finding is a schedule that broke something.
type finding struct {
	Schedule int    `json:"schedule"`
	Broken   broken `json:"broken"`
	Tape     Tape   `json:"tape"`
}

// progress is how far a search has come.
type progress struct {
	Schedules int            `json:"schedules"`
	Steps     int            `json:"steps"`
	States    int            `json:"states"`
	Pruned    int            `json:"pruned"`
	Virtual   time.Duration  `json:"virtual"`
	Violated  map[string]int `json:"violated,omitempty"` // schedules by what they broke, "property/cause"
	Excepted  map[string]int `json:"excepted,omitempty"` // the same, of what no lease can prevent
	Exhausted bool           `json:"exhausted,omitempty"`
}

// search runs the schedules of a job, one after the other, in this process.
type search struct {
	job    job
	host   *host
	length int // steps of the default schedule
	key    string
	walk   *exhaust
	judge  func(ctx context.Context, out Outcome, key string) ([]broken, error)
	only   func(broken) bool // what counts as a finding

	progress progress
	begin    func(n int, prefix []int) // told before each schedule
	found    func(finding)             // told of each finding
	every    func(progress)            // told of progress, after each schedule
}

func newSearch(j job, h *host) (*search, error) {
	p, err := j.Program.resolve(h.find)
	if err != nil {
		return nil, err
	}
	j.Program = p
	j.Bounds = j.Bounds.withDefaults(p)
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &search{job: j, host: h, judge: judge, only: func(b broken) bool { return !b.excepted() }, begin: func(int, []int) {}, found: func(finding) {}, every: func(progress) {}}
	s.progress.Violated, s.progress.Excepted = map[string]int{}, map[string]int{}
	s.key = guardedKey(p)
	if j.Strategy == Exhaustive {
		s.walk = newExhaust(j.Part, j.Parts, j.Prefix)
	}
	return s, nil
}

// guardedKey is the key of the guarded store, for workloads that guard one.
func guardedKey(p Program) string {
	for key := range p.Workload.Guarded(p.Config) {
		return key
	}
	return ""
}

// run searches until the job is done, a finding ends it, or ctx does.
func (s *search) run(ctx context.Context) error {
	if s.walk == nil {
		out, err := s.host.run(s.job.Program, byDefault{}, Bounds{}, false)
		if err != nil {
			return err
		}
		s.length = out.Steps
	}
	for n := s.job.First; s.job.Schedules == 0 || n < s.job.First+s.job.Schedules; n += max(s.job.Parts, 1) {
		if ctx.Err() != nil {
			return nil
		}
		if s.walk != nil && !s.walk.next() {
			s.progress.Exhausted = !s.walk.broken
			return nil
		}
		done, err := s.one(ctx, n)
		if err != nil || done {
			return err
		}
	}
	return nil
}

// one runs and judges one schedule; done when it ends the search.
func (s *search) one(ctx context.Context, n int) (done bool, err error) {
	c := schedule{s.job.Program, s.job.Bounds, s.walk}
	if s.walk == nil {
		s.begin(n, nil)
		c = s.job.settle(n, s.length)
	} else {
		s.begin(n, s.walk.prefix())
	}
	out, err := s.host.run(c.program, c.strategy, c.bounds, false)
	if err != nil {
		return true, err
	}
	s.count(out)
	if out.Pruned {
		s.every(s.progress)
		return false, nil
	}
	all, err := s.judge(ctx, out, s.key)
	if err != nil {
		return true, err
	}
	done = s.note(n, c, out, all)
	s.every(s.progress)
	return done, nil
}

func (s *search) count(out Outcome) {
	s.progress.Schedules++
	s.progress.Steps += out.Steps
	s.progress.Virtual += out.Virtual
	if s.walk != nil {
		s.progress.States, s.progress.Pruned = len(s.walk.seen), s.walk.pruned
	}
}

// note counts what a schedule broke and reports the first thing that is a finding.
func (s *search) note(n int, c schedule, out Outcome, all []broken) (done bool) {
	seen := map[string]bool{}
	reported := false
	for _, b := range all {
		tally := s.progress.Violated
		if b.excepted() {
			tally = s.progress.Excepted
		}
		if !seen[b.key()] {
			tally[b.key()]++
		}
		seen[b.key()] = true
		if s.only(b) && !reported {
			reported = true
			s.found(finding{n, b, newTape(c, out, b)})
		}
	}
	return reported && !s.job.All
}

// newTape makes the tape of a schedule that was run.
func newTape(c schedule, out Outcome, b broken) Tape {
	return Tape{
		Schema: TapeSchema, Program: c.program, Bounds: c.bounds, Choices: out.Tape, Hash: hashText(out.Hash),
		Property: b.Property, Cause: b.Cause, Steps: b.Story,
	}
}

func hashText(h uint64) string { return strconv.FormatUint(h, 16) }
