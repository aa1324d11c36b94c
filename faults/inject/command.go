package inject

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// commandFrom returns the record of a request: its name and first arguments, with the length limits of the history. The caller fills in the client,
// the node and the times.
func commandFrom(r resp.Request) history.Command {
	return history.Command{Name: r.Name(), Args: r.Strings(history.MaxArgs, history.MaxArg)}
}

// label returns the name by which a step of a schedule identifies a request: its command, and for a script its name or else its digest.
func label(r resp.Request, names map[string]string) string {
	command, script := r.Name(), string(r.Arg(1))
	switch {
	case !strings.HasPrefix(command, "EVAL"):
		return command
	case strings.HasPrefix(command, "EVALSHA"):
		script = strings.ToLower(script)
	default:
		script = fmt.Sprintf("%x", sha1.Sum(r.Arg(1)))
	}
	return command + " " + cmp.Or(names[script], script)
}

// replyLine returns the one-line form of a reply for [history.Command].
func replyLine(r resp.Reply) string { return r.Line(history.MaxReply) }
