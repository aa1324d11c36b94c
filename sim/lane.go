package sim

// A client's pool hands out whichever of its idle connections came back last, and that is the runtime's secret when two come back at one
// instant. Idle connections of a client to a node are all the same; so a record does not name the connection but its lane: a connection takes
// the lowest free one when it is used, and leaves it when it is idle again. Commands of one connection that wait for each other are on one lane, and
// the lane of a connection that ended before its replies came is used no more.

// enterLane returns a request the lane of its connection.
func (l *link) enterLane(q *request) {
	if l.inUse == 0 {
		l.lane = l.freeLane()
	}
	l.inUse++
	l.actor.commands[q.command].Conn = l.place() | uint64(l.lane)
}

// leaveLane notes that a request has had its reply. A connection that listens to channels is never idle again.
func (l *link) leaveLane(q *request) {
	if q.name != "SUBSCRIBE" && q.name != "PSUBSCRIBE" {
		l.inUse--
	}
}

// freeLane is the lowest lane between the client and the node that no connection is on.
func (l *link) freeLane() int {
	for lane := 0; ; lane++ {
		taken := false
		for _, o := range l.world.links {
			taken = taken || o.place() == l.place() && o.inUse > 0 && o.lane == lane
		}
		if !taken {
			return lane
		}
	}
}

// place is the number of the link's client and node.
func (l *link) place() uint64 { return l.number &^ 0xffff }
