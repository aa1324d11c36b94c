package servers

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A change of rate does not make the clock jump; a second later it shows rate seconds more.
func TestShiftIsContinuous(t *testing.T) {
	const slowest = 0.01
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := shift{
			since:  begin,
			offset: time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "offset")),
			drift:  rapid.Float64Range(slowest-1, 10).Draw(t, "drift"),
		}
		now := begin.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later")))
		rate := rapid.Float64Range(slowest, 10).Draw(t, "rate")
		next := s.drifting(now, rate)
		if got, want := next.at(now), s.at(now); !got.Equal(want) {
			t.Fatalf("the clock jumped from %s to %s", want, got)
		}
		got, want := next.at(now.Add(time.Second)).Sub(next.at(now)), time.Duration(rate*float64(time.Second))
		if (got - want).Abs() > time.Microsecond {
			t.Fatalf("a second at rate %v lasted %s", rate, got)
		}
	})
}
