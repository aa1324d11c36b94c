package workloads

import (
	"math"
	"math/rand/v2"
	"time"
)

// Pace is how an open loop spaces its rounds.
type Pace string

// The paces.
const (
	Constant Pace = "constant" // with equal gaps; the default
	Poisson  Pace = "poisson"  // with independent gaps, as from independent users: sometimes several come at once
	Ramp     Pace = "ramp"     // at a rate that rises linearly from 0 and reaches Rate at Time
)

// Paces returns all paces.
func Paces() []Pace { return []Pace{Constant, Poisson, Ramp} }

// OpenLoop is a load whose rounds begin at planned times. The zero value is a closed loop: a round
// begins when the client's last one has ended.
type OpenLoop struct {
	Rate    float64       `json:"rate,omitempty"` // rounds per second of all clients
	Pace    Pace          `json:"pace,omitempty"`
	Clients int           `json:"clients,omitempty"`
	Time    time.Duration `json:"time,omitempty"` // how long a ramp rises
	Seed    uint64        `json:"seed,omitempty"` // for the gaps of a Poisson process
}

// Starts returns the intended start of each round of a client, from 0, in nanoseconds, to be asked
// in order; nil for a closed loop.
func (l OpenLoop) Starts(client int) func(n int) int64 {
	switch {
	case l.Rate == 0:
		return nil
	case l.Pace == Poisson: // the starts of all clients together form a process of the whole rate
		gap := float64(time.Second) * float64(l.Clients) / l.Rate
		draw := rand.New(rand.NewPCG(l.Seed, paceStream+uint64(client)))
		at, drawn := gap*draw.ExpFloat64(), 0
		return func(n int) int64 {
			for ; drawn < n; drawn++ {
				at += gap * draw.ExpFloat64()
			}
			return instantOf(at)
		}
	case l.Pace == Ramp: // up to t, rate·t²/(2·Time) rounds have begun; after Time the rate is constant
		perNano, end := l.Rate/float64(time.Second), float64(l.Time)
		half := perNano * end / 2
		return func(n int) int64 {
			k := float64(n*l.Clients + client)
			if k > half {
				return instantOf(end + (k-half)/perNano)
			}
			return instantOf(math.Sqrt(2 * k * end / perNano))
		}
	}
	gap := float64(time.Second) / l.Rate
	return func(n int) int64 { return instantOf(gap * float64(n*l.Clients+client)) }
}

// instantOf rounds a time in nanoseconds. One beyond a century is never reached.
func instantOf(t float64) int64 {
	const century = 100 * 366 * 24 * float64(time.Hour)
	return int64(min(t, century))
}

// paceStream separates the numbers of a pace from those that clients draw from the same seed.
const paceStream = 0x70616365

// Offered returns the mean planned rate between two instants, given in nanoseconds from the run's
// base.
func (l OpenLoop) Offered(from, to int64) float64 {
	if l.Pace != Ramp || l.Time == 0 || to <= from {
		return l.Rate
	}
	begun := func(t float64) float64 {
		end := float64(l.Time)
		return l.Rate * (min(t, end)*min(t, end)/(2*end) + max(t-end, 0))
	}
	return (begun(float64(to)) - begun(float64(from))) / float64(to-from)
}
