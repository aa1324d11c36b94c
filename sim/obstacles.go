package sim

import (
	"slices"
	"time"
)

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

// waitToDial returns the channel that is closed when a client may try again.
func (o *obstacles) waitToDial(now time.Duration, client, node int) <-chan struct{} {
	turn := make(chan struct{})
	o.dials = append(o.dials, waitingDial{now, client, node, turn})
	return turn
}

func (o *obstacles) forgetDial(turn <-chan struct{}) {
	o.dials = slices.DeleteFunc(o.dials, func(d waitingDial) bool { return d.turn == turn })
}

// slowness is the effect of a slow network on messages. Only one is in force at a time; see
// [faults.Director].
type slowness struct {
	delay time.Duration
	rate  float64 // bytes per second; 0 means unlimited
}

// arrival returns when a message that is sent now arrives at the earliest. The link is idle from
// free.
func (s slowness) arrival(now time.Time, bytes int, free *time.Time) (at time.Time) {
	at = now.Add(s.delay)
	if s.rate > 0 {
		if free.Before(now) {
			*free = now
		}
		*free = free.Add(time.Duration(float64(bytes) / s.rate * float64(time.Second)))
		if free.After(at) {
			at = *free
		}
	}
	return at
}
