package history

import (
	"math"
	"strings"
)

// Window is the measured time in which an injected fault was active, with all that a reader needs
// to know of the fault.
type Window struct {
	Fault     string `json:"fault"`                         // name from the fault vocabulary, e.g. pause-client
	Client    string `json:"client,omitempty"`              // client that it hit
	Node      int    `json:"node" is:"node"`                // node that it hit; -1 = none
	Start     int64  `json:"start" is:"instant"`            // nanoseconds on the run's base
	Ending    int64  `json:"ending,omitempty" is:"instant"` // when healing began; 0 = never
	End       int64  `json:"end,omitempty" is:"instant"`    // when it was healed; 0 = never in this run
	Confirmed bool   `json:"confirmed"`                     // a measurement showed its effect
	Moment    string `json:"moment,omitempty"`              // where it was placed, for people
	Note      string `json:"note,omitempty"`                // what was measured, or why it is not confirmed
	Does      Does   `json:"does,omitempty"`                // what a fault of this kind does
	// Replica is set for failovers: HadKey or LackedKey says whether the replica had the lock's key
	// when it was promoted; "" = not known, or there was no key.
	Replica string `json:"replica,omitempty"`
	// Effects are its measured changes to the nodes' data and clocks, in order.
	Effects []Effect `json:"effects,omitempty"`
}

// Effect is one change that a fault made to a node's data or clock.
type Effect struct {
	Node int    `json:"node" is:"node"`  // as in Command
	At   int64  `json:"at" is:"instant"` // nanoseconds on the run's base
	What string `json:"what"`            // Restarted, Promoted, …
	// By is how far the clock was set forward, in nanoseconds.
	By int64 `json:"by,omitempty"`
	// PPM is how much faster than true the clock runs from now on, in millionths; 0 = true.
	PPM int64 `json:"ppm,omitempty"`
	// Known reports whether Turn is known.
	Known bool `json:"known,omitempty"`
	// Turn is the position, as in Command, of the last command or deletion that the node executed
	// before; of a restart or promotion, of the last in the data; of a deletion or eviction, its
	// own. 0 = none.
	Turn uint64 `json:"turn,omitempty"`
	// Kept and Lost are the keys that survived the fault, and those that did not. What a promoted
	// replica kept may have an older value.
	Kept []string `json:"kept,omitempty"`
	Lost []string `json:"lost,omitempty"`
}

// Kinds of effects.
const (
	Restarted = "restarted" // the node came back with the data on its disk
	Promoted  = "promoted"  // a replica took its place, with the data replicated so far
	Demoted   = "demoted"   // the primary, or a replica, copied the data of another primary
	ClockSet  = "clock-set"
	ClockRate = "clock-rate"
	Deleted   = "deleted" // an operator deleted keys
	Evicted   = "evicted" // keys were evicted because memory was full
)

// Values of Window.Replica.
const (
	HadKey    = "had-key"
	LackedKey = "lacked-key"
)

// ReplicaHad returns HadKey or LackedKey.
func ReplicaHad(key bool) string {
	if key {
		return HadKey
	}
	return LackedKey
}

// Last returns when the fault ended; math.MaxInt64 if it was never healed.
func (w Window) Last() int64 {
	if w.End == 0 {
		return math.MaxInt64
	}
	return w.End
}

// Held reports whether a command, if the fault concerns it, cannot have been executed before
// Ending: it was sent while the fault held requests back, or up to early nanoseconds before, and
// not replied until then.
func (w Window) Held(c *Command, early int64) bool {
	return w.Does.Any(HoldsRequests) && c.Sent >= w.Start-early && c.Sent < w.Ending && (c.Replied == 0 || c.Replied >= w.Ending)
}

// Doubt says that a fault was not confirmed, and why; "" for one that was.
func (w Window) Doubt() string {
	if w.Confirmed {
		return ""
	}
	return strings.TrimSuffix(w.Label()+" was not confirmed: "+w.Note, ": ")
}

// Label names a fault and what it hit: "pause-client c1", "kill-server node 1".
func (w Window) Label() string {
	switch {
	case w.Client != "":
		return w.Fault + " " + w.Client
	case w.Node >= 0:
		return w.Fault + " " + Node(w.Node).String()
	}
	return w.Fault
}

// Moment is a named step of a client at which a fault can be placed.
type Moment string

// The moments that clients announce, in the order of one round.
const (
	Calling       Moment = "calling"        // about to acquire
	Granted       Moment = "granted"        // the acquire returned and the client knows it holds
	Refused       Moment = "refused"        // the acquire returned without a grant
	Entered       Moment = "entered"        // inside the critical section, the store has been read
	BeforeRelease Moment = "before-release" // out of the section, about to release
	Released      Moment = "released"       // the release returned
)
