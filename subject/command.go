package subject

import (
	"fmt"
	"regexp"
	"strings"
)

// Command says how a child is started. It is read by a shell: sh on the machine where the child is to run.
type Command struct {
	Exec string // "python3 mylock.py"
	// Launch is put before it, to reach another machine, container or namespace: "ssh {host}", "docker exec -i {container}". It must pass
	// on standard input and output. "": this machine.
	Launch string
	// Host takes the place of the word in braces.
	Host string
}

// placeholder is a word in braces in Launch.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// HasPlaceholder reports whether a launch prefix names a host.
func HasPlaceholder(launch string) bool { return placeholder.MatchString(launch) }

// String is the command as people would type it.
func (c Command) String() string { return strings.TrimSpace(c.prefix() + " " + c.Exec) }

// prefix is Launch with the host in its place.
func (c Command) prefix() string {
	return placeholder.ReplaceAllLiteralString(c.Launch, c.Host)
}

// remote reports whether signals have to be sent by the launcher.
func (c Command) remote() bool { return strings.TrimSpace(c.Launch) != "" }

// shell is the command line, for the local shell, of a shell where the child is to run. It reads what to do from its standard input, so
// that no launcher has to pass on quotes.
func (c Command) shell() string { return strings.TrimSpace("exec " + c.prefix() + " sh") }

// opening is what that shell reads: it says which process it is, and becomes the child.
func (c Command) opening() string {
	return fmt.Sprintf(`printf '{"pid":%%d}\n' "$$"; exec sh -c %s`+"\n", quote(c.Exec))
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// signalling is what a shell reads that sends a signal to the child and all that it started: where the child leads no group, to itself.
// After STOP it fails unless the child is seen stopped.
func signalling(pid int64, signal string) string {
	script := fmt.Sprintf("kill -%s -%d 2>/dev/null || kill -%s %d || exit 1\n", signal, pid, signal, pid)
	if signal == "STOP" {
		script += fmt.Sprintf("n=0; while [ $n -lt 500 ]; do grep -q '^[^)]*) T' /proc/%d/stat && exit 0; n=$((n+1)); done; exit 1\n", pid)
	}
	return script
}
