package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/verdicts"
)

// ErrDiverged is returned if a replay does not reproduce the trace of its tape. The program, the
// lock or lockbench has changed, or the lock is not deterministic: it depends on a clock, a random
// source or a goroutine order of its own.
var ErrDiverged = errors.New("the replay diverged from the tape")

// Simulator runs single schedules in this process, one at a time. Locks must be known to behave:
// one that panics in its own goroutine or spins takes the process with it. [Explore] isolates that
// in worker processes.
type Simulator struct{ host *host }

// New returns a simulator of programs whose locks are in the catalogue; nil is for programs that
// carry their Variant. The caller closes it.
func New(known Catalogue) *Simulator { return &Simulator{newHost(known)} }

// Close closes the nodes.
func (s *Simulator) Close() { s.host.close() }

// Run runs a program once. Its only faults are the program's; the order of messages is drawn from
// the seed, and so is how long they take: up to delay at once, but no longer than a search lets
// them by default; 0 means no time. An error means that the program is invalid.
func (s *Simulator) Run(p Program, delay time.Duration) (Outcome, error) {
	b := Bounds{MaxDelay: min(delay, p.Config.Lease/delaysPerLease)}
	if b.MaxDelay > 0 {
		b.MaxWaits = math.MaxInt
	}
	order := newRandom(p.Seed, b, 0)
	order.waits = usualWaits
	return s.host.run(p, order, b, false)
}

// usualWaits is the chance with which Run lets time pass at a step while messages are on their way.
const usualWaits = 0.1

// Replay runs a tape and keeps the trace, and the schedule, whose Playable form real servers can
// replay. It returns ErrDiverged if the trace is not the tape's.
func (s *Simulator) Replay(t Tape) (Outcome, error) {
	out, err := s.host.run(t.Program, t.follow(), t.Bounds, true)
	if err != nil {
		return Outcome{}, err
	}
	if got := hashText(out.Hash); got != t.Hash || out.Missed > 0 {
		return out, fmt.Errorf("%w: trace %s, want %s; %d choices were not possible", ErrDiverged, got, t.Hash, out.Missed)
	}
	return out, nil
}

// Breaks runs a tape and reports whether its violation still occurs, with the story, even if the
// run has diverged because the lock was changed.
func (s *Simulator) Breaks(ctx context.Context, t Tape) (bool, []string, error) {
	all, err := s.judged(ctx, t)
	b, ok := withKey(all, t.key())
	return ok, b.Story, err
}

// BreaksElse runs a tape and returns the first violation besides the tape's for which the lock is
// to blame, with its story; zero if there is none.
func (s *Simulator) BreaksElse(ctx context.Context, t Tape) (verdicts.Break, []string, error) {
	all, err := s.judged(ctx, t)
	i := slices.IndexFunc(all, func(b broken) bool { return b.key() != t.key() && !b.Excepted })
	if i < 0 {
		return verdicts.Break{}, nil, err
	}
	return verdicts.Break{Property: all[i].Property, Cause: all[i].Cause}, all[i].Story, err
}

// judged runs a tape and returns its violations, with their stories.
func (s *Simulator) judged(ctx context.Context, t Tape) ([]broken, error) {
	out, err := s.host.run(t.Program, t.follow(), t.Bounds, false)
	if err != nil {
		return nil, err
	}
	var x explainer
	defer x.close()
	return x.judge(ctx, out, true)
}

// Shrink minimizes a failing tape: it searches smaller programs, with fewer clients, rounds, faults
// and polls, for the same violation and cause, then leaves out choices one by one. If ctx ends, it
// returns the smallest so far; a tape whose lock kills its process is returned unchanged.
func (s *Simulator) Shrink(ctx context.Context, t Tape) (Tape, error) {
	h := &shrinker{host: s.host, ctx: ctx, best: t, tries: tries}
	defer h.causes.close()
	return h.shrink()
}

// Explore searches in this process, on one core: for tests of a lock that the test defines. A lock
// that crashes its process crashes the test.
func (s *Simulator) Explore(ctx context.Context, cfg ExploreConfig) (ExploreResult, error) {
	cfg.Known = s.host.known
	return exploreHere(ctx, cfg, []runner{s.host}, nil)
}
