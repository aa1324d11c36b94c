package servers

import (
	"context"
	"fmt"
	"math"
	"time"
)

// The names of the shifted clock's file, of the object that is preloaded, and of the environment
// variable that tells it the file.
const (
	clockFile   = "clock"
	clockObject = "clock.so"
	clockEnv    = "LOCKBENCH_CLOCK"
)

// clockSlack is the tolerated difference of a server's clock from its setting, besides the round
// trip.
const clockSlack = time.Millisecond

// shift is how far a server's clock is from the machine's: offset at the time since, and drift more
// for every second after. Zero is a true clock.
type shift struct {
	since  time.Time // of the machine's wall clock
	offset time.Duration
	drift  float64 // rate - 1
}

// at returns what the shifted clock shows when the machine's shows t.
func (s shift) at(t time.Time) time.Time {
	return t.Add(s.offset + time.Duration(float64(t.Sub(s.since))*s.drift))
}

// off returns how far the clock is ahead of the machine's at t.
func (s shift) off(t time.Time) time.Duration { return s.at(t).Sub(t) }

func (f *fleet) JumpClock(ctx context.Context, i int, by time.Duration) (at time.Time, err error) {
	return f.shiftClock(ctx, i, func(s shift, now time.Time) shift { return shift{now, s.off(now) + by, s.drift} })
}

func (f *fleet) SetClockRight(ctx context.Context, i int) (was time.Duration, at time.Time, err error) {
	at, err = f.shiftClock(ctx, i, func(s shift, now time.Time) shift {
		was = s.off(now)
		return shift{since: now}
	})
	return was, at, err
}

func (f *fleet) DriftClock(ctx context.Context, i int, rate float64) (at time.Time, err error) {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return at, fmt.Errorf("clock rate %v: must be a positive number", rate)
	}
	return f.shiftClock(ctx, i, func(s shift, now time.Time) shift { return shift{now, s.off(now), rate - 1} })
}

// shiftClock writes a new shift for the server's clock, waits until TIME agrees with it within a
// round trip, and returns the instant from which it counts.
func (f *fleet) shiftClock(ctx context.Context, i int, next func(shift, time.Time) shift) (at time.Time, err error) {
	n, err := f.byNumber(i)
	if err == nil && n.clockPath() == "" {
		err = fmt.Errorf("set the clock of %s: the servers were started without clock faults: %w", n.name, ErrRefused)
	}
	if err != nil {
		return at, err
	}
	err = f.on(i, "set the clock of", func(n *node) error {
		at = time.Now()
		s := next(n.clock, at.Round(0)) // without the monotonic reading: the server uses the wall clock
		if err := writeShift(n.clockPath(), s); err != nil {
			return fmt.Errorf("set the clock of %s: %w", n.name, err)
		}
		n.clock = s
		a, err := newAdmin(ctx, n.dial)
		if err != nil {
			return err
		}
		defer a.Close()
		var before, shown time.Time
		err = poll(ctx, "show the new time", func() (_ bool, err error) {
			before = time.Now().Round(0)
			shown, err = a.Time(ctx).Result()
			low, high := s.at(before).Add(-clockSlack), s.at(time.Now().Round(0)).Add(clockSlack)
			return !shown.Before(low) && !shown.After(high), err
		})
		if err != nil {
			return fmt.Errorf("set the clock of %s: it shows %s from the machine's: %w", n.name, shown.Sub(before), err)
		}
		return nil
	}, running)
	return at, err
}
