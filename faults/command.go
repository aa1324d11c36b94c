package faults

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// CommandFrom gives the record of a request: its name and its first arguments, bounded as the history asks. Who sent it, where and
// when is for the caller to fill in.
func CommandFrom(r resp.Request) history.Command {
	return history.Command{Name: r.Name(), Args: r.Strings(history.MaxArgs, history.MaxArg)}
}

// ReplyLine gives the one-line form of a reply for [history.Command].
func ReplyLine(r resp.Reply) string { return r.Line(history.MaxArg) }
