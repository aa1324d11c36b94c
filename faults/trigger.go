package faults

import (
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Operation is what a request is sent for.
type Operation string

// The operations. A request that a lock sends while its client neither acquires nor releases is an
// extend.
const (
	inAcquire Operation = "acquire"
	inExtend  Operation = "extend"
	inUse     Operation = "use" // sent to the guarded store
	inRelease Operation = "release"

	anyOperation = "any"
	anyWrite     = "*w"
)

// operations lists the operations that Trigger.Request and Trigger.Reply may name.
func operations() []string {
	return []string{string(inAcquire), string(inExtend), string(inUse), string(inRelease), anyOperation}
}

// after returns the operation that follows a moment.
func after(m history.Moment) Operation {
	switch m {
	case history.Calling:
		return inAcquire
	case history.BeforeRelease:
		return inRelease
	}
	return inExtend
}

// Stage is how far a request or reply has come.
type Stage uint8

// The stages. Faults of messages are injected on the way, all others at the client.
const (
	Leaving   Stage = iota + 1 // the request has not left its client
	Underway                   // the request is between client and node
	Answered                   // the reply is between node and client
	Returning                  // the reply has reached the client, which has not seen it
)

// pattern is the text of Trigger.Request or Trigger.Reply: an operation and, optionally, a command.
type pattern struct {
	operation string
	command   string
}

func parsePattern(text string) pattern {
	op, cmd, _ := strings.Cut(strings.TrimSpace(text), " ")
	return pattern{op, strings.TrimSpace(cmd)}
}

// matches reports whether a command of an operation matches. Handshakes never match: they belong to
// no operation.
func (p pattern) matches(op Operation, command string, write bool) bool {
	if upstream.Opening(command) || p.operation != anyOperation && p.operation != string(op) {
		return false
	}
	switch p.command {
	case "":
		return true
	case anyWrite:
		return write
	}
	return strings.EqualFold(p.command, command)
}

// matchesReply is matches with the reply: for a pattern of commands that write, the command must
// have written, which a refused SET NX has not. A script that replies several values says so in the
// first. nilGrants reverses the meaning of an acquire script's nil.
func (p pattern) matchesReply(op Operation, cmd *history.Command, write, nilGrants bool) bool {
	if !p.matches(op, cmd.Name, write) || p.command != anyWrite {
		return p.matches(op, cmd.Name, write)
	}
	switch script := strings.HasPrefix(cmd.Name, "EVAL"); {
	case script && op == inRelease && cmd.Reply == "(nil)": // a release script may reply so whether or not it released
		return true
	case script && nilGrants && op == inAcquire:
		return cmd.Reply == "(nil)"
	}
	return cmd.Reply != "(nil)" && cmd.Reply != "0" && !strings.HasPrefix(cmd.Reply, "[0, ") && cmd.Reply != "[0]" && !strings.HasPrefix(cmd.Reply, "-")
}
