package workloads

import "time"

// ConstantPace returns a client's intended starts in an open loop, in nanoseconds from the run's base: the clients take turns at rate rounds
// per second in total. It returns nil for rate 0, a closed loop.
func ConstantPace(rate float64, clients, index int) func(n int) int64 {
	if rate == 0 {
		return nil
	}
	gap := float64(time.Second) / rate
	return func(n int) int64 { return int64(gap * float64(n*clients+index)) }
}
