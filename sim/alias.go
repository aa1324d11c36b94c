package sim

import "slices"

// A client's pool hands out the idle connection that came back last; when two come back at one
// instant, the runtime decides. Idle connections of a client to a node are interchangeable, so a
// record does not name the connection but its alias: a connection takes the lowest free alias when
// it is used, and gives it up when it is idle again. Commands of one connection that wait for each
// other share an alias; the alias of a connection that ended before its replies came is not used
// again.

// takeAlias gives a request the alias of its connection: the lowest that is free between the client
// and the node, if it was idle.
func (cn *conn) takeAlias(q *request) {
	if cn.inUse == 0 {
		alias := 0
		for cn.world.past[cn.place()].aliases[alias] || slices.ContainsFunc(cn.world.conns, func(o *conn) bool {
			return o.inUse > 0 && o.alias == alias && o.place() == cn.place()
		}) {
			alias++
		}
		cn.alias = alias
	}
	cn.inUse++
	cn.client.commands[q.command].Conn = cn.place() | uint64(min(cn.alias, 1<<placeShift-1))
}

// place returns a number that identifies the connection's client and node.
func (cn *conn) place() uint64 { return cn.number >> placeShift << placeShift }

// placeShift is the place of the node in a number. The connections and aliases of a place after the
// first 65,535 share the last.
const placeShift = 16

// ended reports whether a connection has no further effect: the client has closed it, and nothing
// is on its way. Replies to it are dropped.
func (cn *conn) ended() bool {
	return cn.shut && len(cn.requests) == 0
}

// addConn inserts a connection in the order of names, and drops those that have ended: a lock that
// gives up slow requests opens one for each.
func (w *world) addConn(cn *conn) {
	cn.number = uint64(cn.client.index)<<32 | uint64(cn.node)<<placeShift
	p := w.past[cn.place()]
	if p == nil {
		p = &past{aliases: map[int]bool{}}
		w.past[cn.place()] = p
	}
	cn.number |= min(p.opened, 1<<placeShift-1)
	p.opened++
	conns := make([]*conn, 0, len(w.conns)+1) // a new list: the old one may be in use
	for _, o := range w.conns {
		switch {
		case !o.ended():
			conns = append(conns, o)
		case o.inUse > 0:
			w.past[o.place()].aliases[o.alias] = true
		}
	}
	i, _ := slices.BinarySearchFunc(conns, cn, func(a, b *conn) int { return int(int64(a.number) - int64(b.number)) })
	w.conns = slices.Insert(conns, i, cn)
}
