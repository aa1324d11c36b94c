package inject

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// CommandFrom returns the record of a request: its name and its first arguments, bounded as the history asks. Who sent it, where and
// when is for the caller to fill in.
func CommandFrom(r resp.Request) history.Command {
	return history.Command{Name: r.Name(), Args: r.Strings(history.MaxArgs, history.MaxArg)}
}

// label is by what a step of a score names a request: its command, and of a script which, by its name or else its digest.
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

// ReplyLine returns the one-line form of a reply for [history.Command].
func ReplyLine(r resp.Reply) string { return r.Line(history.MaxReply) }
