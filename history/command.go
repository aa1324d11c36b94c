package history

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/internal/resp"
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
	Node    int    `json:"node" is:"node"`                 // of the lock, from 0; negative = the guarded store
	Conn    uint64 `json:"conn"`                           // connection, unique within the run
	Op      uint64 `json:"op,omitempty"`                   // operation that sent it; 0 = background
	Sent    int64  `json:"sent" is:"instant"`              // nanoseconds on the run's base
	Replied int64  `json:"replied,omitempty" is:"instant"` // 0 = no reply
	// position, from 1, among the commands and deletions (Effect) that the node executed; 0 = not
	// executed or not known
	Turn   uint64   `json:"turn,omitempty"`
	Ran    int64    `json:"ran,omitempty" is:"instant"` // when the node executed it, if Turn is set
	Name   string   `json:"name"`                       // upper case: SET, DEL, EVALSHA
	Script string   `json:"script,omitempty"`           // digest of the script that it ran
	Args   []string `json:"args,omitempty"`             // without the name
	Reply  string   `json:"reply,omitempty"`            // one line: OK, (nil), 1, "value", -ERR …, [1, "a"], [1, … 900 items]
	Cut    bool     `json:"cut,omitempty"`              // an argument or the reply was truncated
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

// IsScript reports whether the command runs a script or a function, whose effects do not follow
// from its name.
func (c *Command) IsScript() bool {
	return strings.HasPrefix(c.Name, "EVAL") || strings.HasPrefix(c.Name, "FCALL")
}

// Waits reports whether the node may keep the command until there is data or replicas have caught
// up.
func (c *Command) Waits() bool { return resp.Waits(c.Name) }

// Failed reports whether the reply is an error: the node did not run the command, or a script ended
// early.
func (c *Command) Failed() bool { return resp.IsErrorText(c.Reply) }

// Accepted reports whether the reply is OK or a number above zero.
func (c *Command) Accepted() bool {
	n, err := strconv.ParseInt(c.Reply, 10, 64)
	return c.Reply == "OK" || err == nil && n > 0
}

// Follows reports whether the node must have executed the command after another with a reply.
func (c *Command) Follows(o *Command) bool {
	if c.Node == o.Node && c.Turn != 0 && o.Turn != 0 {
		return c.Turn > o.Turn
	}
	return c.Sent > o.Replied
}

// MayRenew reports whether the command may have changed when a key expires.
func (c *Command) MayRenew() bool {
	switch c.Name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "GETEX", "SET", "SETEX", "PSETEX", "PERSIST":
		return true
	}
	return c.IsScript()
}

// Keys returns the keys that the command names. A script that declares none counts as naming all
// its arguments.
func (c *Command) Keys() []string {
	if c.IsScript() && len(c.Args) >= 2 && c.Args[1] == "0" {
		return c.Args[2:]
	}
	return resp.Keys(append([]string{c.Name}, c.Args...))
}

// Node is the number of a node in a record, from 0. People count nodes from 1.
type Node int

// String returns the name that scenarios, stories and pages use: "node 1" is the first.
func (n Node) String() string { return "node " + strconv.Itoa(int(n)+1) }
