package faults

import (
	"strings"

	"github.com/lockbench/lockbench/history"
)

// Phase is the operation that a client is in, as far as its moments tell.
type Phase string

// The phases. A client between two rounds is Idle.
const (
	Idle         Phase = "idle"
	InAcquire    Phase = "acquire"
	InUse        Phase = "use"
	InRelease    Phase = "release"
	anyOperation       = "any"
	anyWrite           = "*w"
)

// after is the phase that a moment begins.
func after(m history.Moment) Phase {
	switch m {
	case history.Calling:
		return InAcquire
	case history.Granted, history.Entered:
		return InUse
	case history.BeforeRelease:
		return InRelease
	}
	return Idle
}

// Pattern is the text of Trigger.Request or Trigger.Reply: an operation and, optionally, a command.
type Pattern struct {
	operation string
	command   string
}

// ParsePattern reads "acquire", "acquire SET" or "acquire *w".
func ParsePattern(text string) Pattern {
	op, cmd, _ := strings.Cut(strings.TrimSpace(text), " ")
	return Pattern{op, strings.TrimSpace(cmd)}
}

// Matches tells whether a command of a client in a phase fits. Handshakes never do: they belong to no operation.
func (p Pattern) Matches(phase Phase, cmd *history.Command, write bool) bool {
	if handshake[cmd.Name] || p.operation != anyOperation && p.operation != string(phase) {
		return false
	}
	switch p.command {
	case "":
		return true
	case anyWrite:
		return write
	}
	return strings.EqualFold(p.command, cmd.Name)
}

// MatchesReply is Matches for a command whose reply is there. A pattern for commands that write asks, besides, that the command
// did write: a refused SET NX changed nothing, and no fault is placed after it. A script that answers several values says so in the first. nilGrants turns the meaning of a script's nil.
func (p Pattern) MatchesReply(phase Phase, cmd *history.Command, write, nilGrants bool) bool {
	return p.Matches(phase, cmd, write) && (p.command != anyWrite ||
		tookEffect(cmd, nilGrants && phase == InAcquire) || phase == InRelease && nilScript(cmd))
}

// tookEffect tells, from the reply, whether a command that writes did.
func tookEffect(cmd *history.Command, nilGrants bool) bool {
	if script := strings.HasPrefix(cmd.Name, "EVAL"); script && nilGrants {
		return cmd.Reply == "(nil)"
	}
	return cmd.Reply != "(nil)" && cmd.Reply != "0" && !strings.HasPrefix(cmd.Reply, "[0, ") && !strings.HasPrefix(cmd.Reply, "-")
}

// nilScript tells a script that answers nothing. One that releases may do so whether or not it released.
func nilScript(cmd *history.Command) bool {
	return strings.HasPrefix(cmd.Name, "EVAL") && cmd.Reply == "(nil)"
}

// IsHandshake tells the commands with which a connection begins. They belong to no operation, and no trigger matches or counts them.
func IsHandshake(command string) bool { return handshake[command] }

var handshake = map[string]bool{"HELLO": true, "CLIENT": true, "AUTH": true, "SELECT": true, "COMMAND": true, "CLUSTER": true}
