package sim

func (w *world) push(l *link, u update) {
	if len(l.stream) == 0 {
		l.ready = w.step
	}
	l.stream = append(l.stream, u)
}

// written queues a node's data for replication after a write. A replica that is down will copy
// everything later.
func (w *world) written(n *node) {
	n.writes++
	for _, l := range w.linksOf(n) {
		if n == l.primary && !l.replica.down {
			w.push(l, update{dataset: n.copy(w.clock()), write: n.writes})
		}
	}
}

// disconnected is called when a node was killed: what is on its way to a killed replica is lost,
// what a killed primary has sent arrives.
func (w *world) disconnected(n *node) {
	for _, l := range w.linksOf(n) {
		l.apart = true
		if n == l.replica {
			l.stream = nil
		}
	}
}

// reconnected is called when a node has started: once both ends of a link are up, the replica
// copies all data of the primary.
func (w *world) reconnected(n *node) {
	for _, l := range w.linksOf(n) {
		if !l.primary.down && !l.replica.down {
			w.push(l, update{dataset: l.primary.copy(w.clock()), write: l.primary.writes, whole: true})
		}
	}
}

// Replicas returns how many replicas have all writes up to the connection's last command.
func (cn *conn) Replicas() int { return cn.world.replicas(cn.server, cn.seen) }
