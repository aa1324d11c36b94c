package history

import (
	"cmp"
	"math"
	"slices"
)

// Command is one request that a client sent to a node and the reply it saw. Commands are what a cause is
// attributed from: they say which request freed or changed which key.
//
// At most [MaxArgs] arguments are kept, each of at most [MaxArg] bytes, and [MaxReply] bytes of the reply; Cut says that something
// is missing. Bytes that are not printable UTF-8 are kept with Go's escapes. The first argument of a script is the name that its first
// comment line gives ("-- name: release.lua"), or its digest; Script is always the digest, by which a [Script] has the source.
type Command struct {
	Client  string   `json:"client"`
	Node    int      `json:"node"`
	Conn    uint64   `json:"conn"`             // unique within the run; orders commands of one connection
	Op      uint64   `json:"op,omitempty"`     // the operation during which the client sent it; 0 = in the background
	Sent    int64    `json:"sent"`             // nanoseconds on the run's base
	Replied int64    `json:"replied"`          // 0 = no reply was seen
	Turn    uint64   `json:"turn,omitempty"`   // its place, from 1, among the commands that the node executed; 0 = not known, or not executed
	Ran     int64    `json:"ran,omitempty"`    // with Turn: when the node executed it
	Name    string   `json:"name"`             // upper case: SET, DEL, EVALSHA
	Script  string   `json:"script,omitempty"` // digest of the script that it runs
	Args    []string `json:"args,omitempty"`   // without the name
	Reply   string   `json:"reply,omitempty"`  // one line: OK, (nil), 1, "value", -ERR …, [1, "a"], [1, … 900 items]
	Cut     bool     `json:"cut,omitempty"`    // an argument or the reply is not whole
}

// Bounds on what is kept of one command.
const (
	MaxArgs  = 64
	MaxArg   = 4096 // bytes
	MaxReply = 4096 // bytes
)

// Script is the source of a script that clients sent, by which its commands can be executed again.
type Script struct {
	Digest string `json:"digest"` // SHA-1 in lower-case hexadecimal digits
	Source string `json:"source"`
}

// LinkCommands sets the operation of each command that has none: the one of its client that was called last among those during which
// the command was sent. What no operation covers was sent in the background. Operations and commands are those of one run, with their ids
// set; uses and writes send nothing of their own to a lock's nodes.
func LinkCommands(ops []Operation, commands []Command) {
	calls := map[string][]*Operation{}
	for i := range ops {
		if op := &ops[i]; op.Op == Acquire || op.Op == Extend || op.Op == Release {
			calls[op.Client] = append(calls[op.Client], op)
		}
	}
	for _, list := range calls {
		slices.SortStableFunc(list, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	for i := range commands {
		if c := &commands[i]; c.Op == 0 {
			c.Op = during(calls[c.Client], c.Sent)
		}
	}
}

// overlapping is how many operations before the last one called may still be under way: a client does one thing at a time, and renews a
// few holds besides.
const overlapping = 64

func during(calls []*Operation, sent int64) uint64 {
	n, _ := slices.BinarySearchFunc(calls, sent, func(op *Operation, t int64) int {
		if op.Call <= t {
			return -1
		}
		return 1
	})
	for i := n - 1; i >= max(0, n-overlapping); i-- {
		if calls[i].Return >= sent {
			return calls[i].ID
		}
	}
	return 0
}

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
	// Effects are what it did to the data of nodes, in the order in which it did so; none where nobody looked.
	Effects []Effect `json:"effects,omitempty"`
}

// Effect is what a fault did to a node's data or clock, at an instant.
type Effect struct {
	Node int    `json:"node"` // as in Command
	At   int64  `json:"at"`   // nanoseconds on the run's base
	What string `json:"what"` // one of the words below
	// By is how far a clock was set, in nanoseconds.
	By int64 `json:"by,omitempty"`
	// PPM is by how many millionths a clock runs faster than true from now on; 0 is true.
	PPM int64 `json:"ppm,omitempty"`
	// Turn is, of a restart or a promotion, the last command whose effect the data have: Command.Turn. 0 = none; see Known.
	Turn uint64 `json:"turn,omitempty"`
	// Known says that Turn means something.
	Known bool `json:"known,omitempty"`
	// Kept and Lost are the keys that were there before and that are there afterwards, or are not.
	Kept []string `json:"kept,omitempty"`
	Lost []string `json:"lost,omitempty"`
}

// What a fault may do to a node's data and clock.
const (
	Restarted = "restarted" // it came back with what its disk had
	Promoted  = "promoted"  // another node took its place, with what had reached that
	ClockSet  = "clock-set"
	ClockRate = "clock-rate"
	Deleted   = "deleted" // keys went, by an operator
	Evicted   = "evicted" // keys went, because memory was full
)

// What a replica that is promoted may have of the lock.
const (
	HadKey    = "had-key"
	LackedKey = "lacked-key"
)

// ReplicaHad returns the word for a promoted replica that has the lock's key, or has not.
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
