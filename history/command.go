package history

import (
	"crypto/sha1"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Command is one request that a client sent to a node, with its reply. Commands show which request
// changed or deleted which key, and so the cause of a violation.
//
// It keeps at most [MaxArgs] arguments of [MaxArg] bytes each, and [MaxReply] bytes of the reply;
// Cut reports that something is missing. Unprintable bytes are escaped as in Go. The first argument
// of a script is the name in its first comment line ("-- name: release.lua"), or its digest; Script
// is always the digest, and a [Script] has the source.
type Command struct {
	Client  string `json:"client"`
	Node    int    `json:"node"`         // of the lock, from 0; negative = the guarded store
	Conn    uint64 `json:"conn"`         // connection, unique within the run
	Op      uint64 `json:"op,omitempty"` // operation that sent it; 0 = background
	Sent    int64  `json:"sent"`         // nanoseconds on the run's base
	Replied int64  `json:"replied"`      // 0 = no reply
	// position, from 1, among the commands and deletions (Effect) that the node executed; 0 = not
	// executed or not known
	Turn   uint64   `json:"turn,omitempty"`
	Ran    int64    `json:"ran,omitempty"`    // when the node executed it, if Turn is set
	Name   string   `json:"name"`             // upper case: SET, DEL, EVALSHA
	Script string   `json:"script,omitempty"` // digest of the script that it ran
	Args   []string `json:"args,omitempty"`   // without the name
	Reply  string   `json:"reply,omitempty"`  // one line: OK, (nil), 1, "value", -ERR …, [1, "a"], [1, … 900 items]
	Cut    bool     `json:"cut,omitempty"`    // an argument or the reply was truncated
}

// Limits of a recorded command.
const (
	MaxArgs  = 64
	MaxArg   = 4096 // bytes
	MaxReply = 4096 // bytes
)

// Script is the source of a script that clients sent; its commands can be executed again with it.
type Script struct {
	Digest string `json:"digest"` // see ScriptDigest
	Source string `json:"source"`
}

// ScriptDigest returns the name of a script for EVALSHA: its SHA-1 in lower-case hexadecimal
// digits.
func ScriptDigest(source string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(source))) }

// Linked reports whether the commands of a record name their operations. Then a command that names
// none was sent in the background.
func Linked(commands []Command) bool {
	return slices.ContainsFunc(commands, func(c Command) bool { return c.Op != 0 })
}

// UnderWay returns for how long within [from, to] any of the commands, which are ordered by time
// sent, waited for its reply. Those that never got one, or may have waited at the node, do not
// count.
func UnderWay(commands []Command, from, to int64) (total int64) {
	for i := range commands {
		c := &commands[i]
		if until := min(c.Replied, to); !c.Waits() && until > max(c.Sent, from) {
			total += until - max(c.Sent, from)
			from = until
		}
	}
	return total
}

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
	// Effects are its changes to the nodes' data and clocks, in order, as far as they were
	// measured.
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
