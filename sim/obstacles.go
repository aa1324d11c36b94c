package sim

import "time"

// obstacles are what faults have put between clients and nodes.
type obstacles struct {
	cut           map[cutKey]bool
	dials         []waitingDial // that wait for the end of a cut
	slow          slowness
	noSubscribers int // number of faults in force that forbid subscribing
}

type cutKey struct{ client, node int }

// waitingDial is a goroutine that waits to dial again.
type waitingDial struct {
	since        time.Duration
	client, node int
	turn         chan struct{}
}

// slowness is the effect of a slow network on messages. Only one is in force at a time; see
// [faults.Director].
type slowness struct {
	delay time.Duration
	rate  float64 // bytes per second; 0 means unlimited
}
