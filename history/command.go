package history

import "math"

// Command is one request that a client sent to a node and the reply it saw. Commands are what a cause is
// attributed from: they say which request freed or changed which key.
//
// Only the first [MaxArgs] arguments are kept, each cut to [MaxArg] bytes. Scripts are recorded by the name
// their first comment line gives ("-- name: release.lua"), or by digest.
type Command struct {
	Client  string   `json:"client"`
	Node    int      `json:"node"`
	Conn    uint64   `json:"conn"`            // unique within the run; orders commands of one connection
	Sent    int64    `json:"sent"`            // nanoseconds on the run's base
	Replied int64    `json:"replied"`         // 0 = no reply was seen
	Name    string   `json:"name"`            // upper case: SET, DEL, EVALSHA
	Args    []string `json:"args,omitempty"`  // without the name
	Reply   string   `json:"reply,omitempty"` // one line: OK, (nil), 1, "value", -ERR …, [n items], [1, … n items]
}

// Bounds on what is kept of one command.
const (
	MaxArgs = 12
	MaxArg  = 128
)

// Window is the measured time in which an injected fault was active. What the checker needs to know of a
// fault is in here; the package faults makes them.
type Window struct {
	Fault     string `json:"fault"`            // name from the fault vocabulary, e.g. pause-client
	Client    string `json:"client,omitempty"` // the client it was done to
	Node      int    `json:"node"`             // the node it was done to; -1 = none
	Start     int64  `json:"start"`            // nanoseconds on the run's base
	Ending    int64  `json:"ending,omitempty"` // when its end was asked for; 0 = never
	End       int64  `json:"end"`              // when its end was seen; 0 = never healed in this run
	Confirmed bool   `json:"confirmed"`        // it was seen to take
	Moment    string `json:"moment,omitempty"` // where it was placed, in words
	Note      string `json:"note,omitempty"`   // what was measured, or why it did not take
	// Replica is, of a failover, what the promoted replica had of the lock when it took over, before anybody wrote to it: HadKey or
	// LackedKey. "" is not known, or that there was no key to have.
	Replica string `json:"replica,omitempty"`
}

// What a replica that is promoted may have of the lock.
const (
	HadKey    = "had-key"
	LackedKey = "lacked-key"
)

// ReplicaHad gives the word for a promoted replica that has the lock's key, or has not.
func ReplicaHad(key bool) string {
	if key {
		return HadKey
	}
	return LackedKey
}

// Last is the instant up to which the fault lasted; math.MaxInt64 for one that was never healed.
func (w Window) Last() int64 {
	if w.End == 0 {
		return math.MaxInt64
	}
	return w.End
}
