package sim

import (
	"context"
	"errors"
	"fmt"
)

// ErrDiverged: a replay did not give the trace of its tape. The program, the lock or lockbench has changed since, or the lock
// is not deterministic (it reads a clock, a random source or a goroutine order that nobody passed to it).
var ErrDiverged = errors.New("the replay diverged from the tape")

// Simulator runs single schedules in this process, one at a time. It is for what is known to end: a lock that panics in a
// goroutine of its own or spins takes the process with it. [Explore] keeps that in worker processes.
type Simulator struct{ host *host }

// New makes a simulator of programs whose locks the catalogue knows; nil is for programs that carry their Variant. Close ends it.
func New(known Catalogue) *Simulator { return &Simulator{newHost(known)} }

// Close returns up the nodes. The error is always nil.
func (s *Simulator) Close() error {
	s.host.close()
	return nil
}

// Run runs a program once. Its faults are those of the program alone; the order of messages is drawn from the seed. An
// error is a program that makes no sense.
func (s *Simulator) Run(p Program) (Outcome, error) {
	return s.host.run(p, newRandom(p.Seed, Bounds{}, 0), Bounds{}, false)
}

// Replay runs a tape, with its trace. The error is ErrDiverged when the trace is not the tape's.
func (s *Simulator) Replay(t Tape) (Outcome, error) {
	out, err := s.host.run(t.Program, &follow{choices: t.Choices}, t.Bounds, true)
	if err != nil {
		return Outcome{}, err
	}
	if got := hashText(out.Hash); got != t.Hash || out.Missed > 0 {
		return out, fmt.Errorf("%w: trace %s, want %s; %d choices were not possible", ErrDiverged, got, t.Hash, out.Missed)
	}
	return out, nil
}

// Breaks runs a tape and reports whether what it broke is still broken, with the story. A run that has diverged because the lock
// was changed is judged like any other.
func (s *Simulator) Breaks(ctx context.Context, t Tape) (bool, []string, error) {
	out, err := s.host.run(t.Program, &follow{choices: t.Choices}, t.Bounds, false)
	if err != nil {
		return false, nil, err
	}
	p, err := t.Program.resolve(s.host.known)
	if err != nil {
		return false, nil, err
	}
	all, err := judge(ctx, out, p, true)
	if err != nil {
		return false, nil, err
	}
	for _, b := range all {
		if b.Property == t.Property && b.Cause == t.Cause {
			return true, b.Story, nil
		}
	}
	return false, nil, nil
}
