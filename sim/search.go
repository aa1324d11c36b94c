package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/history"
)

// finding is a schedule that broke something.
type finding struct {
	Schedule int    `json:"schedule"`
	Broken   broken `json:"broken"`
	Tape     Tape   `json:"tape"`
}

// progress is how far a search has come.
type progress struct {
	Schedules    int            `json:"schedules"`
	Steps        int            `json:"steps"`
	States       int            `json:"states"`
	Pruned       int            `json:"pruned"`
	Virtual      time.Duration  `json:"virtual"`
	Violated     map[string]int `json:"violated,omitempty"` // schedules by what they broke, "property/cause"
	Excepted     map[string]int `json:"excepted,omitempty"` // the same, of what no lease can prevent
	Exhausted    bool           `json:"exhausted,omitempty"`
	Unhashed     int            `json:"unhashed,omitempty"`     // states of a walk at which nothing was pruned, because they could not be hashed
	Unexplorable string         `json:"unexplorable,omitempty"` // why the lock cannot be explored: the search has ended
	Why          string         `json:"why,omitempty"`          // a walk that came to its end has not run everything
}

// search runs the schedules of a job, one after the other, in this process.
type search struct {
	job    job
	host   *host
	length int // steps of the default schedule
	walk   *exhaust
	judge  func(ctx context.Context, out Outcome, p Program, stories bool) ([]broken, error)
	only   func(broken) bool // what counts as a finding

	progress progress
	findings int
	begin    func(n int, prefix []int) // told before each schedule
	found    func(finding)             // told of each finding
	every    func(progress)            // told of progress, after each schedule
}

func newSearch(j job, h *host) (*search, error) {
	p, err := j.Program.resolve(h.known)
	if err != nil {
		return nil, err
	}
	j.Program = p
	j.Bounds = j.Bounds.withDefaults(p)
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &search{job: j, host: h, judge: judge, only: j.seeks, begin: func(int, []int) {}, found: func(finding) {}, every: func(progress) {}}
	s.progress.Violated, s.progress.Excepted = map[string]int{}, map[string]int{}
	if j.Strategy == Exhaustive {
		s.job.Bounds.Instant = true
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
			if s.walk.broken {
				s.progress.Why = "the same choices did not always lead to the same: the program is not deterministic"
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
	if out.Unexplorable {
		s.progress.Unexplorable = "not explorable: " + out.Crash
		return true, nil
	}
	if out.Pruned {
		s.every(s.progress)
		return false, nil
	}
	all, err := s.judge(context.WithoutCancel(ctx), out, c.program, false)
	if err != nil {
		return true, err
	}
	done, err = s.note(ctx, n, c, out, all)
	s.every(s.progress)
	return done, err
}

func (s *search) count(out Outcome) {
	s.progress.Schedules++
	s.progress.Steps += out.Steps
	s.progress.Virtual += out.Virtual
	if s.walk != nil {
		s.progress.States, s.progress.Pruned, s.progress.Unhashed = len(s.walk.seen), s.walk.pruned, s.walk.unknown
		if out.Steps > s.job.Bounds.MaxSteps {
			s.progress.Why = fmt.Sprintf("a schedule has more than %d events, behind which one order was run", s.job.Bounds.MaxSteps)
		}
	}
}

// note counts what a schedule broke and reports the first thing that is a finding.
func (s *search) note(ctx context.Context, n int, c schedule, out Outcome, all []broken) (done bool, err error) {
	seen := map[string]bool{}
	for _, b := range all {
		if seen[b.key()] {
			continue
		}
		seen[b.key()] = true
		if b.Excepted {
			s.progress.Excepted[b.key()]++
			continue
		}
		s.progress.Violated[b.key()]++
	}
	i := strongest(all, s.only)
	if i < 0 {
		return false, nil
	}
	s.findings++
	if s.findings > maxFindings {
		return false, nil
	}
	b, err := s.told(ctx, c, out, all[i])
	s.found(finding{n, b, newTape(c, out, b)})
	return !s.job.All, err
}

// strongest returns the first finding that blames the lock itself, or else the first; -1 when there is none. Two clients inside at once may
// be a stall that no lock prevents, in a schedule that went wrong for another reason later.
func strongest(all []broken, only func(broken) bool) int {
	blames := func(b broken) bool {
		return only(b) && b.Property != history.ExclusiveUse && b.Property != history.StoreIntegrity
	}
	if i := slices.IndexFunc(all, blames); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, only)
}

// maxFindings is how many findings a search tells of; it goes on counting.
const maxFindings = 20

// told judges an outcome once more, for the story of what it broke.
func (s *search) told(ctx context.Context, c schedule, out Outcome, b broken) (broken, error) {
	all, err := s.judge(context.WithoutCancel(ctx), out, c.program, true)
	for _, x := range all {
		if x.key() == b.key() {
			return x, err
		}
	}
	return b, err
}

// newTape makes the tape of a schedule that was run.
func newTape(c schedule, out Outcome, b broken) Tape {
	return Tape{
		Schema: TapeSchema, Program: c.program, Bounds: c.bounds, Choices: out.Tape, Hash: hashText(out.Hash),
		Property: b.Property, Cause: b.Cause, Steps: b.Story,
	}
}

func hashText(h uint64) string { return strconv.FormatUint(h, 16) }
