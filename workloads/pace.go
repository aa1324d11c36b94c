package workloads

import (
	"math"
	"math/rand/v2"
	"time"
)

// Pace is how an open loop spreads its rounds over time.
type Pace string

// The paces.
const (
	Constant Pace = "constant" // with equal gaps; "" means this
	Poisson  Pace = "poisson"  // with independent gaps, as of users who do not know of each other: now and then several come at once
	Ramp     Pace = "ramp"     // at a rate that rises evenly from nothing, and is reached when the time is over
)

// Paces lists them.
func Paces() []Pace { return []Pace{Constant, Poisson, Ramp} }

// OpenLoop is a load whose rounds begin by plan, however long the earlier ones take. The zero value is a closed loop: a client's next round
// begins when its last one has ended.
type OpenLoop struct {
	Rate    float64       `json:"rate,omitempty"` // rounds per second of all clients
	Pace    Pace          `json:"pace,omitempty"`
	Clients int           `json:"clients,omitempty"`
	Time    time.Duration `json:"time,omitempty"` // in which a ramp rises
	Seed    uint64        `json:"seed,omitempty"` // of what a Poisson process draws
}

// Starts returns a client's intended starts, in nanoseconds from the run's base, by the number of its round; nil for a closed loop. The
// numbers must not fall.
func (l OpenLoop) Starts(client int) func(n int) int64 {
	switch {
	case l.Rate == 0:
		return nil
	case l.Pace == Poisson:
		return l.poisson(client)
	case l.Pace == Ramp:
		return func(n int) int64 { return int64(l.risen(float64(n*l.Clients + client))) }
	}
	gap := float64(time.Second) / l.Rate
	return func(n int) int64 { return int64(gap * float64(n*l.Clients+client)) }
}

// poisson draws the starts of one client. Those of all clients together are a Poisson process, too, of the whole rate.
func (l OpenLoop) poisson(client int) func(n int) int64 {
	gap := float64(time.Second) * float64(l.Clients) / l.Rate
	draw := rand.New(rand.NewPCG(l.Seed, paceStream+uint64(client)))
	at, drawn := gap*draw.ExpFloat64(), 0
	return func(n int) int64 {
		for ; drawn < n; drawn++ {
			at += gap * draw.ExpFloat64()
		}
		return int64(at)
	}
}

// paceStream keeps the numbers of a pace apart from those that clients draw of the same seed.
const paceStream = 0x70616365

// risen is when the k-th round of a ramp begins, in nanoseconds. Up to t, rate·t²/(2·Time) rounds have begun; after Time the rate stays.
func (l OpenLoop) risen(k float64) float64 {
	perNano, end := l.Rate/float64(time.Second), float64(l.Time)
	if half := perNano * end / 2; k > half {
		return end + (k-half)/perNano
	}
	return math.Sqrt(2 * k * end / perNano)
}

// Offered is the mean rate of rounds that are to begin between two instants, in nanoseconds from the run's base.
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
