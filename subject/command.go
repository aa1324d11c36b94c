package subject

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lockbench/lockbench/internal/foreign"
)

// Command is how to start a child. sh executes it on the machine where the child runs.
type Command struct {
	Exec string // "python3 mylock.py"
	// Launch is a prefix that reaches another machine or container, such as "ssh {host}", and
	// passes input and output on. "": this machine.
	Launch string
	// Host replaces the word in braces.
	Host string
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// HasPlaceholder reports whether a launch prefix names a host.
func HasPlaceholder(launch string) bool { return placeholder.MatchString(launch) }

// String returns the command as one would type it, for messages: a long one without its middle.
func (c Command) String() string { return foreign.Ends(strings.TrimSpace(c.prefix()+" "+c.Exec), 200) }

func (c Command) prefix() string {
	return placeholder.ReplaceAllLiteralString(c.Launch, c.Host)
}

// shell returns the local command line of a shell where the child runs. It reads commands from
// standard input, so that no launcher passes on quotes.
func (c Command) shell() string { return strings.TrimSpace("exec " + c.prefix() + " sh") }

// opening returns what that shell reads: it prints its process id and becomes the child.
func (c Command) opening() string {
	return fmt.Sprintf(`printf '{"pid":%%d}\n' "$$"; exec sh -c %s`+"\n", "'"+strings.ReplaceAll(c.Exec, "'", `'\''`)+"'")
}
