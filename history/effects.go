package history

import (
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/internal/resp"
)

// What a recorded command did, as far as its name and its reply say. All that reads commands asks here.

// IsScript reports whether the command runs a script or a function: its name says nothing of what it does.
func (c *Command) IsScript() bool {
	return strings.HasPrefix(c.Name, "EVAL") || strings.HasPrefix(c.Name, "FCALL")
}

// Accepted reports whether the reply is OK or a number above zero.
func (c *Command) Accepted() bool { return c.Reply == "OK" || c.counted() }

// counted reports whether the reply is a number above zero.
func (c *Command) counted() bool {
	n, err := strconv.ParseInt(c.Reply, 10, 64)
	return err == nil && n > 0
}

// Removed reports whether the command removed something; of a script, whether its reply may say so.
func (c *Command) Removed() bool {
	switch c.Name {
	case "DEL", "UNLINK", "DELEX", "DELIFEQ":
		return c.Replied != 0 && c.counted()
	}
	return c.IsScript() && c.Replied != 0 && c.counted()
}

// Wrote reports whether the command, no script, wrote its first argument.
func (c *Command) Wrote() bool {
	switch c.Name {
	case "SET", "SETNX", "GETSET", "HSET", "HSETNX", "HINCRBY", "SADD", "ZADD", "INCR":
		return len(c.Args) > 0 && c.Accepted()
	}
	return false
}

// MayRenew reports whether the command may have set the end of a key.
func (c *Command) MayRenew() bool {
	switch c.Name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "GETEX", "SET", "SETEX", "PSETEX", "PERSIST":
		return true
	}
	return c.IsScript()
}

// Keys returns the keys that the command names. A script that declares none counts as naming all its arguments.
func (c *Command) Keys() []string {
	if c.IsScript() && len(c.Args) >= 2 && c.Args[1] == "0" {
		return c.Args[2:]
	}
	return resp.Keys(append([]string{c.Name}, c.Args...))
}
