package checker

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// How release-safety reads recorded commands: a command removed a key if its name and its reply say so (VERDICTS §3, "with commands").

// removed reports whether a command removed something, by its name and reply.
func removed(c history.Command) bool {
	switch c.Name {
	case "DEL", "UNLINK", "DELEX", "DELIFEQ":
		return c.Replied != 0 && positive(c.Reply)
	}
	return isScript(c.Name) && c.Replied != 0 && positive(c.Reply)
}

// wrote reports whether a plain command wrote its first argument.
func wrote(c history.Command) bool {
	switch c.Name {
	case "SET", "SETNX", "GETSET", "HSET", "HSETNX", "HINCRBY", "SADD", "ZADD", "INCR":
		return len(c.Args) > 0 && (c.Reply == "OK" || positive(c.Reply))
	}
	return false
}

// mayRenew reports whether a command may have set the end of a key.
func mayRenew(c history.Command) bool {
	switch c.Name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "GETEX", "SET", "SETEX", "PSETEX", "PERSIST":
		return true
	}
	return isScript(c.Name)
}

func isScript(name string) bool {
	return strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")
}

// redisKeys returns the Redis keys that a command names. A script that declares none counts as naming all its arguments.
func redisKeys(c *history.Command) []string {
	switch {
	case len(c.Args) == 0:
		return nil
	case isScript(c.Name):
		return scriptKeys(c.Args)
	case c.Name == "DEL" || c.Name == "UNLINK" || c.Name == "EXISTS" || c.Name == "MGET" || c.Name == "WATCH":
		return c.Args
	}
	return c.Args[:1]
}

func scriptKeys(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 {
		return nil
	}
	if n == 0 {
		return args[2:]
	}
	return args[2:min(len(args), 2+n)]
}

// positive reports whether a reply is an integer above zero.
func positive(reply string) bool {
	n, err := strconv.ParseInt(reply, 10, 64)
	return err == nil && n > 0
}

// names reports whether an argument of the command contains key.
func names(c history.Command, key string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, key) })
}

func share(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}
