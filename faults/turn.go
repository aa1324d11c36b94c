package faults

import (
	"fmt"
	"time"
)

// Held is a message of a real run that waits for its turn.
type Held struct {
	Client int // from 1
	Node   int // from 0; -1 for the guarded store's own server
	Reply  bool
	Since  int // the step at which it arrived
}

// String identifies the message by client and node.
func (h Held) String() string {
	if h.Node < 0 {
		return ClientName(h.Client) + "-store"
	}
	return fmt.Sprintf("%s-n%d", ClientName(h.Client), h.Node+1)
}

// Turn is what happens next in a run whose messages pass one by one: the fault is injected, else
// the held message passes, else time passes.
type Turn struct {
	Held  int           // index of the message that passes or that the fault affects; -1: none
	Fault Spec          // the fault that is injected; without a name: none
	Wait  time.Duration // how long to wait
}
