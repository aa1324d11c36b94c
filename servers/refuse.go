package servers

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// refuser refuses every server fault, for deployments whose servers are not ours to break.
type refuser struct{ why string }

func (r refuser) refuse(what string) error { return fmt.Errorf("%s: %s: %w", what, r.why, ErrRefused) }

// Kill is refused.
func (r refuser) Kill(context.Context, int) error { return r.refuse("kill") }

// Restart is refused.
func (r refuser) Restart(context.Context, int) error { return r.refuse("restart") }

// Pause is refused.
func (r refuser) Pause(context.Context, int) error { return r.refuse("pause") }

// Resume is refused.
func (r refuser) Resume(context.Context, int) error { return r.refuse("resume") }

// Promote is refused.
func (r refuser) Promote(context.Context) (int, error) { return 0, r.refuse("promote") }

// SetReplication is refused.
func (r refuser) SetReplication(context.Context, bool) error { return r.refuse("set replication") }

// SetClock is refused.
func (r refuser) SetClock(context.Context, int, time.Duration) error { return r.refuse("set clock") }

// DriftClock is refused.
func (r refuser) DriftClock(context.Context, int, float64) error { return r.refuse("drift clock") }

// EvictKeys is refused: a limit of the memory is everybody's.
func (r refuser) EvictKeys(context.Context, int, ...string) (int, error) {
	return 0, r.refuse("evict keys")
}

// needless refuses a spec that asks for what only servers of our own can have.
func (r refuser) needless(spec Spec) error {
	switch {
	case spec.ClockFaults:
		return r.refuse("clock faults")
	case spec.MaxMemory > 0:
		return r.refuse("a memory limit")
	case spec.Persistence != impls.PersistNone:
		return r.refuse(fmt.Sprintf("persistence %s", spec.Persistence))
	}
	return nil
}
