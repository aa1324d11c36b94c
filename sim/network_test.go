package sim

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// A lock that gives up slow requests opens a connection for each. Those that have ended are
// dropped, and keep their aliases: a record would otherwise show commands on one connection, in
// order, that had two.
func TestEndedConnectionsAreDropped(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		c := &client{world: w, name: "c1", messages: map[int]int{}, commands: make([]history.Command, 1)}
		var aliases []int
		for i := range 5 {
			cn := &conn{world: w, client: c, server: w.nodes[0], changed: make(chan struct{}, 1)}
			cn.session = w.nodes[0].NewSession(cn)
			w.addConn(cn)
			q := &request{conn: cn}
			cn.takeAlias(q)
			aliases = append(aliases, cn.alias)
			if i%2 == 1 {
				cn.inUse--
			}
			w.mu.Unlock()
			_ = cn.Close()
			w.mu.Lock()
		}
		if want := []int{0, 1, 1, 2, 2}; !slices.Equal(aliases, want) || len(w.conns) > 1 {
			t.Errorf("aliases %v and %d connections left, want %v and the last", aliases, len(w.conns), want)
		}
	})
}
