package history

import (
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/internal/resp"
)

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
