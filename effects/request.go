package effects

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Request is what a node executes as one step: a command, with its name, or those from MULTI to
// EXEC.
type Request [][]string

// Requests turns recorded commands into requests to the embedded server.
type Requests struct {
	scripts      map[string]string // sources by digest
	transactions map[*history.Command][]*history.Command
}

// NewRequests also returns the commands with each transaction replaced by one command, MULTI, which
// the node executed when it received the EXEC: but for its name and arguments, it is the command
// that ended the transaction.
func NewRequests(commands []history.Command, scripts map[string]string) (*Requests, []history.Command) {
	q := &Requests{scripts: scripts, transactions: map[*history.Command][]*history.Command{}}
	if !slices.ContainsFunc(commands, func(c history.Command) bool { return c.Name == "MULTI" }) {
		return q, commands
	}
	type connection struct {
		client string
		node   int
		number uint64
	}
	begun := map[connection][]*history.Command{} // MULTI and what was queued since
	all := make([]history.Command, 0, len(commands))
	for i := range commands {
		c := &commands[i]
		on := connection{c.Client, c.Node, c.Conn}
		queued, within := begun[on]
		switch {
		case !within && c.Name == "MULTI":
			begun[on] = []*history.Command{}
		case !within:
			all = append(all, *c)
		case c.Name == "EXEC" || c.Name == "DISCARD":
			delete(begun, on)
			whole := *c
			whole.Name, whole.Args = "MULTI", nil
			for _, c := range queued {
				whole.Args = append(append(whole.Args, c.Name), c.Args...)
				whole.Cut = whole.Cut || c.Cut
			}
			whole.Args = append(whole.Args, c.Name)
			all = append(all, whole)
			q.transactions[&all[len(all)-1]] = queued
		default:
			begun[on] = append(queued, c)
		}
	}
	return q, all
}

// Of returns the request to execute on the embedded server; nil if it uses no key or cannot be
// executed again.
func (q *Requests) Of(c *history.Command) (r Request) {
	queued, several := q.transactions[c]
	switch {
	case c.Cut:
		return nil
	case !several:
		if args := q.one(c); args != nil {
			r = Request{args}
		}
		return r
	case c.Args[len(c.Args)-1] == "DISCARD":
		return nil
	case c.Name == "MULTI" && c.Reply == "(nil)": // a watched key had changed: it named keys and changed nothing
		look := []string{"EXISTS"}
		for _, c := range queued {
			look = append(look, resp.Keys(append([]string{c.Name}, c.Args...))...)
		}
		if len(look) > 1 {
			r = Request{look}
		}
		return r
	}
	r = Request{{"MULTI"}}
	for _, c := range queued {
		args := q.one(c)
		if args == nil {
			return nil
		}
		r = append(r, args)
	}
	return append(r, []string{"EXEC"})
}

// one returns a single command to execute; nil if it uses no key or cannot be executed again.
func (q *Requests) one(c *history.Command) []string {
	args := append([]string{c.Name}, c.Args...)
	switch c.Name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		source, ok := q.scripts[c.Script]
		if c.Script == "" && len(c.Args) > 0 { // a record of another tool may have the source, or its digest, only there
			source, ok = c.Args[0], true
			if strings.HasPrefix(c.Name, "EVALSHA") {
				source, ok = q.scripts[strings.ToLower(c.Args[0])]
			}
		}
		if !ok || len(c.Args) < 2 {
			return nil
		}
		args[0], args[1] = "EVAL", source
		return args
	}
	if quiet[c.Name] || c.Waits() && c.Reply == "(nil)" {
		return nil
	}
	return args
}

// quiet are commands that neither change nor read a key.
var quiet = map[string]bool{"HELLO": true, "AUTH": true, "CLIENT": true, "PING": true, "SELECT": true, "SUBSCRIBE": true, "UNSUBSCRIBE": true,
	"PSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SSUBSCRIBE": true, "SUNSUBSCRIBE": true, "PUBLISH": true, "SPUBLISH": true, "WAIT": true, "WAITAOF": true,
	"ROLE": true, "INFO": true, "CONFIG": true, "CLUSTER": true, "COMMAND": true, "SCRIPT": true, "ECHO": true, "TIME": true, "READONLY": true,
	"ASKING": true, "QUIT": true, "RESET": true, "WATCH": true, "UNWATCH": true, "DISCARD": true, "PUBSUB": true, "REPLCONF": true}
