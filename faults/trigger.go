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

// pattern is the text of Trigger.Request or Trigger.Reply: an operation and, optionally, a command.
type pattern struct {
	operation string
	command   string
}

func parsePattern(text string) pattern {
	op, cmd, _ := strings.Cut(strings.TrimSpace(text), " ")
	return pattern{op, strings.TrimSpace(cmd)}
}

// matches tells whether a command of a client in a phase fits. Handshakes never do: they belong to no operation.
func (p pattern) matches(phase Phase, cmd *history.Command, write bool) bool {
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

var handshake = map[string]bool{"HELLO": true, "CLIENT": true, "AUTH": true, "SELECT": true, "COMMAND": true, "CLUSTER": true}
