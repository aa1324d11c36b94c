package history

import (
	"slices"
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
func (c *Command) Accepted() bool { return c.Reply == "OK" || c.positive() }

// positive reports whether the reply is a number above zero.
func (c *Command) positive() bool {
	n, err := strconv.ParseInt(c.Reply, 10, 64)
	return err == nil && n > 0
}

// Removed reports whether the command removed a key; for a script, whether it may have.
func (c *Command) Removed() bool {
	switch c.Name {
	case "DEL", "UNLINK", "DELEX", "DELIFEQ":
	default:
		if !c.IsScript() {
			return false
		}
	}
	return c.Replied != 0 && c.positive()
}

// Follows reports whether the node can have executed the command after another with a reply or,
// with surely, whether it must have.
func (c *Command) Follows(o *Command, surely bool) bool {
	switch {
	case c.Node == o.Node && c.Turn != 0 && o.Turn != 0:
		return c.Turn > o.Turn
	case surely:
		return c.Sent > o.Replied
	}
	return c.Replied == 0 || c.Replied > o.Sent
}

// Wrote reports whether the command wrote its first argument; false for scripts.
func (c *Command) Wrote() bool {
	switch c.Name {
	case "SET", "SETNX", "HSETNX", "HINCRBY", "SADD", "ZADD", "INCR":
		return len(c.Args) > 0 && c.Accepted()
	case "GETSET", "HSET": // HSET replies how many fields are new
		return len(c.Args) > 0 && c.Replied != 0 && !c.Failed()
	}
	return false
}

// Overwrites reports whether the command wrote over all that another wrote at the same node, a
// string or a field of a hash, and whether it put another value there; false for scripts.
func (c *Command) Overwrites(o *Command) (over, changed bool) {
	at, its := c.place(), o.place()
	n := len(at)
	over = c.Wrote() && o.Wrote() && c.Node == o.Node && n > 0 && slices.Equal(at, its)
	return over, over && c.Args[n] != o.Args[n]
}

// place returns the key of a string that the command writes, or a key and the field of a hash; nil:
// it writes something else.
func (c *Command) place() []string {
	switch c.Name {
	case "SET", "SETNX", "GETSET":
		if len(c.Args) > 1 {
			return c.Args[:1]
		}
	case "HSET", "HSETNX":
		if len(c.Args) == 3 {
			return c.Args[:2]
		}
	}
	return nil
}

// SetNothing reports whether the reply says that a key existed already, and so was not set; false
// for scripts.
func (c *Command) SetNothing() bool {
	return c.Name == "SET" && c.Reply == "(nil)" || (c.Name == "SETNX" || c.Name == "HSETNX") && c.Reply == "0"
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
