package checker

import (
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// effect is what one command did to the keys of a lock, as far as its name, its arguments and its reply tell.
type effect uint8

const (
	effectNone      effect = iota // it read, or it did nothing
	effectCreate                  // it took the lock on the condition that nobody held it
	effectOverwrite               // it took the lock whether or not somebody held it
	effectFree                    // it deleted the lock's key, or the caller's part of it
	effectLease                   // it set the time at which the key ends
	effectRefuse                  // it was refused: the condition did not hold
	effectPublish                 // it woke waiters
	effectMaybe                   // it would have changed the key, and no reply was seen
)

// noLease is the ttl of a step that sets none; unknownLease of one that sets a lease which its arguments do not show.
const (
	noLease      int64 = 0
	unknownLease int64 = -1
)

// step is a command with its meaning for one lock.
type step struct {
	history.Command
	during  history.Op      // the call of the lock it belongs to; OpInvalid when it was sent in the background
	called  int64           // when that call began
	outcome history.Outcome // of that call
	mode    history.Mode    // of that call
	effect  effect
	ttl     int64 // nanoseconds: of effectCreate, effectOverwrite and effectLease
	implied bool  // the call's outcome says so, not the reply
}

// latest is the last instant at which the step can have taken effect; the end of time when no reply was seen.
func (s *step) latest() int64 {
	if s.Replied == 0 {
		return never
	}
	return s.Replied
}

// takes reports whether the step made its client a holder.
func (s *step) takes() bool { return s.effect == effectCreate || s.effect == effectOverwrite }

// wholeKey reports whether a freeing step took the key away for everybody, not only the caller's part of it.
func (s *step) wholeKey() bool { return s.Name == "DEL" || s.Name == "UNLINK" || s.Name == "GETDEL" }

// script reports whether the command is a Lua script.
func (s *step) script() bool { return isScript(s.Name) }

func isScript(name string) bool {
	return strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")
}

// redisKeys returns the Redis keys that a command names. A script that declares none is taken to name all its arguments.
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

// interpret fills in the effect and the lease of a step, from everything but its surroundings.
func (s *step) interpret() {
	switch {
	case strings.HasPrefix(s.Reply, "-"):
		s.effect = effectRefuse
	case s.script():
		s.interpretScript()
	default:
		s.interpretPlain()
	}
	if s.Replied == 0 && s.effect != effectNone && s.effect != effectPublish && !strings.HasPrefix(s.Reply, "-") { // an error did nothing, seen or not
		s.effect = effectMaybe
	}
}

func (s *step) interpretPlain() {
	switch s.Name {
	case "SET":
		s.interpretSet()
	case "SETNX", "HSETNX", "MSETNX":
		s.effect = when(positive(s.Reply), effectCreate)
	case "GETSET", "HSET", "HMSET", "ZADD", "SADD", "PSETEX", "SETEX", "HINCRBY":
		s.effect = effectOverwrite
		s.ttl = setexLease(s.Name, s.Args)
	case "DEL", "UNLINK", "HDEL", "ZREM", "SREM", "DELEX", "DELIFEQ":
		s.effect = when(positive(s.Reply), effectFree)
	case "GETDEL":
		s.effect = when(s.Reply != "(nil)", effectFree)
	case "EXPIRE", "PEXPIRE":
		s.effect = when(positive(s.Reply), effectLease)
		s.ttl = expireLease(s.Name, s.Args)
	case "EXPIREAT", "PEXPIREAT":
		s.effect, s.ttl = when(positive(s.Reply), effectLease), unknownLease
	case "PERSIST":
		s.effect = when(positive(s.Reply), effectLease)
	case "PUBLISH", "SPUBLISH":
		s.effect = effectPublish
	}
}

// interpretSet reads the options of SET: a condition, and a lease.
func (s *step) interpretSet() {
	s.effect = effectOverwrite
	for i := 2; i < len(s.Args); i++ {
		switch strings.ToUpper(s.Args[i]) {
		case "NX":
			s.effect = when(s.Reply == "OK", effectCreate)
		case "XX", "IFEQ":
			s.effect = when(s.Reply == "OK", effectLease)
		case "EX":
			s.ttl = amount(s.Args, i+1, second)
		case "PX":
			s.ttl = amount(s.Args, i+1, milli)
		case "EXAT", "PXAT":
			s.ttl = unknownLease
		}
	}
}

// interpretScript goes by the call that a script belongs to, because what a script's reply means is the variant's
// own affair. A script that a call sends to undo what it did is known by its name.
func (s *step) interpretScript() {
	s.ttl = unknownLease
	if containsAny(s.scriptName(), "withdraw", "leave") {
		return // it takes back a place in a queue, which is no hold
	}
	switch s.role() {
	case history.Release:
		s.implied = s.Reply == "(nil)" && s.outcome == history.OK
		s.effect = when(positive(s.Reply) || s.Reply == "OK" || s.implied, effectFree)
	case history.Extend:
		s.effect = when(positive(s.Reply) || s.Reply == "OK", effectLease)
	case history.Acquire:
		// OK is what SET says; of a number, the one that granted is known only from the call: see scene.
		s.effect = when(s.Reply == "OK" || s.outcome == history.Unknown && positive(s.Reply), effectCreate)
	}
}

// scriptName is what a script is called, or its digest.
func (s *step) scriptName() string {
	if len(s.Args) == 0 {
		return ""
	}
	return strings.ToLower(s.Args[0])
}

// role is what a script is for: what its name says, else the call it was sent in.
func (s *step) role() history.Op {
	name := s.scriptName()
	switch {
	case containsAny(name, "release", "unlock", "undo", "free"):
		return history.Release
	case containsAny(name, "extend", "renew", "refresh", "expire_if"):
		return history.Extend
	case containsAny(name, "acquire", "obtain"):
		return history.Acquire
	case s.during != history.OpInvalid:
		return s.during
	case strings.Contains(name, "lock"):
		return history.Acquire
	}
	return history.Extend // in the background a lock does nothing but renew
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// when returns e when the condition of the command held, or when no reply tells; else that it was refused.
func when(held bool, e effect) effect {
	if held {
		return e
	}
	return effectRefuse
}

// positive reports whether a reply is an integer above zero.
func positive(reply string) bool {
	n, err := strconv.ParseInt(reply, 10, 64)
	return err == nil && n > 0
}

const (
	milli  int64 = 1_000_000
	second int64 = 1000 * milli
)

// amount reads the argument at i as a number of units; unknownLease when it is missing or no number.
func amount(args []string, i int, unit int64) int64 {
	if i >= len(args) {
		return unknownLease
	}
	n, err := strconv.ParseInt(args[i], 10, 64)
	if err != nil || n < 0 || n > never/unit {
		return unknownLease
	}
	return n * unit
}

func expireLease(name string, args []string) int64 {
	if name == "EXPIRE" {
		return amount(args, 1, second)
	}
	return amount(args, 1, milli)
}

func setexLease(name string, args []string) int64 {
	switch name {
	case "SETEX":
		return amount(args, 1, second)
	case "PSETEX":
		return amount(args, 1, milli)
	}
	return noLease
}
