package servers

import (
	"context"
	"fmt"
	"time"
)

// refuser refuses every server fault, for deployments that lockbench does not control.
type refuser struct{ why string }

func (r refuser) refuse(what string) error { return fmt.Errorf("%s: %s: %w", what, r.why, ErrRefused) }

func (r refuser) Kill(context.Context, int) error                 { return r.refuse("kill") }
func (r refuser) Restart(context.Context, int) error              { return r.refuse("restart") }
func (r refuser) Pause(context.Context, int) error                { return r.refuse("pause") }
func (r refuser) Resume(context.Context, int) error               { return r.refuse("resume") }
func (r refuser) Promote(context.Context, int) error              { return r.refuse("promote") }
func (r refuser) SetReplication(context.Context, int, bool) error { return r.refuse("set replication") }
func (r refuser) JumpClock(context.Context, int, time.Duration) (at time.Time, err error) {
	return at, r.refuse("jump clock")
}
func (r refuser) DriftClock(context.Context, int, float64) (at time.Time, err error) {
	return at, r.refuse("drift clock")
}
func (r refuser) SetClockRight(context.Context, int) (was time.Duration, at time.Time, err error) {
	return was, at, r.refuse("set clock right")
}
func (refuser) Sentinels() *Sentinels { return nil }
func (refuser) Log() *Log             { return nil }
func (r refuser) EvictKeys(context.Context, int, ...string) ([]Eviction, error) {
	return nil, r.refuse("evict keys")
}
