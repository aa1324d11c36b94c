package sim

import (
	"strconv"
	"strings"
)

// eval implements EVAL source numkeys key … arg …, and EVALSHA with a digest instead of the source.
func (n *node) eval(s *session, byDigest bool, args []string) {
	var sha string
	source, known := args[0], true
	if byDigest {
		sha = strings.ToLower(args[0])
		source, known = n.scripts[sha]
	} else {
		sha = n.lua.digest(source)
	}
	args = args[1:]
	count, err := strconv.Atoi(args[0])
	switch {
	case !known:
		s.peer.WriteError("NOSCRIPT No matching script. Please use EVAL.")
		return
	case err != nil:
		s.peer.WriteError("ERR value is not an integer or out of range")
		return
	case count < 0:
		s.peer.WriteError("ERR Number of keys can't be negative")
		return
	case count > len(args)-1:
		s.peer.WriteError("ERR Number of keys can't be greater than number of args")
		return
	}
	f, err := n.lua.compile(sha, source)
	if err != nil {
		s.peer.WriteError("ERR Error compiling script (new function): " + oneLine(err.Error()))
		return
	}
	n.scripts[sha] = source
	n.lua.run(s.peer, sha, f, args[1:1+count], args[1+count:])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (n *node) script(s *session, args []string) {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "LOAD":
		sha := n.lua.digest(args[1])
		if _, err := n.lua.compile(sha, args[1]); err != nil {
			s.peer.WriteError("ERR Error compiling script (new function): " + oneLine(err.Error()))
			return
		}
		n.scripts[sha] = args[1]
		s.peer.WriteBulk(sha)
	case sub == "EXISTS":
		s.peer.WriteLen(len(args) - 1)
		for _, sha := range args[1:] {
			_, known := n.scripts[strings.ToLower(sha)]
			s.peer.WriteInt(boolInt(known))
		}
	case len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[1], "SYNC") || strings.EqualFold(args[1], "ASYNC")):
		clear(n.scripts)
		s.peer.WriteOK()
	default:
		s.peer.WriteError("ERR unknown subcommand or wrong number of arguments for 'script' command")
	}
}
