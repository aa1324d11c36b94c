package fakeredis

import (
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

type transaction struct {
	queued [][]string
	failed bool // a command was refused when it was queued
}

// inTransaction runs MULTI, EXEC and DISCARD and queues what comes between; done means nothing is
// left to do. miniredis runs WATCH.
func (n *Node) inTransaction(s *Session, name string, args []string) (done bool) {
	tx := s.tx
	switch {
	case tx == nil && name != "MULTI":
		return false
	case tx == nil:
		s.tx = &transaction{}
		s.peer.WriteOK()
	case name == "MULTI":
		s.peer.WriteError("ERR MULTI calls can not be nested")
	case name == "WATCH":
		s.peer.WriteError("ERR WATCH inside MULTI is not allowed")
	case name == "DISCARD":
		s.tx = nil
		n.changedSinceWatch(s)
		s.peer.WriteOK()
	case name == "EXEC":
		s.tx = nil
		switch changed := n.changedSinceWatch(s); {
		case tx.failed:
			s.peer.WriteError("EXECABORT Transaction discarded because of previous errors.")
		case changed:
			s.peer.WriteRaw(string(null(s, "*-1")))
		default:
			s.peer.WriteLen(len(tx.queued))
			for _, queued := range tx.queued {
				n.run(s, strings.ToUpper(queued[0]), queued)
			}
		}
	default:
		tx.queued = append(tx.queued, args)
		s.peer.WriteInline("QUEUED")
	}
	return true
}

// changedSinceWatch runs an empty transaction of miniredis, which knows the watched keys; that ends
// the watching.
func (n *Node) changedSinceWatch(s *Session) bool {
	ask := server.NewPeer(n.lua.scratch())
	ask.Ctx, ask.Resp3 = s.peer.Ctx, false
	n.srv.Dispatch(ask, []string{"MULTI"})
	ask.Flush()
	n.lua.buf.Reset()
	n.srv.Dispatch(ask, []string{"EXEC"})
	ask.Flush()
	s.peer.Ctx = ask.Ctx
	return strings.HasPrefix(n.lua.buf.String(), "*-1") || strings.HasPrefix(n.lua.buf.String(), "_")
}
