package workloads

import "time"

// ConstantPace returns the intended starts of an open loop, in nanoseconds from the run's base: the clients take turns at the rate of
// the run, which is rounds per second of all of them together. It is nil for a closed loop, of rate 0.
func ConstantPace(rate float64, clients, index int) func(n int) int64 {
	if rate == 0 {
		return nil
	}
	gap := float64(time.Second) / rate
	return func(n int) int64 { return int64(gap * float64(n*clients+index)) }
}
