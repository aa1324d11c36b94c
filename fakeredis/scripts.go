package fakeredis

import (
	"iter"
	"maps"
	"strconv"
	"strings"
)

// eval implements EVAL source numkeys key … arg …, and EVALSHA with a digest instead of the source.
func (n *Node) eval(s *Session, byDigest bool, args []string) {
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

// ForgetScripts does what SCRIPT FLUSH and a restart do.
func (n *Node) ForgetScripts() { clear(n.scripts) }

// Scripts yields the digests of the scripts that the node knows, in any order.
func (n *Node) Scripts() iter.Seq[string] { return maps.Keys(n.scripts) }

// Digest returns the name of a script for EVALSHA, computed once for each.
func (n *Node) Digest(source string) string { return n.lua.digest(source) }

// Drawn returns a number that stands for what scripts have drawn at random.
func (n *Node) Drawn() uint64 { return n.lua.random.x }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (n *Node) script(s *Session, args []string) {
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
