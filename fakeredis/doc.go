// Package fakeredis is an embedded Redis server for simulations and replays: miniredis with a clock
// that the caller sets, with Lua, transactions, commands that wait for data, publish and subscribe,
// and cluster slots as Redis 7 has them. It knows no schedules, no networks and no locks.
//
// A [Node] executes one command at a time, at an instant that the caller names, and tells what the
// command changed, and which leases have ended since; [Node.Copy] and [Node.Load] move whole data,
// for persistence and replication. A [Server] is a node with one session: it loads the data of a
// record, executes a recorded command again, and tells the reply and what changed.
//
// It is not Redis. What a node does not do exactly as Redis does it refuses by name
// ([Node.Refused]), and random sequences of commands are compared with redis-server. A Node and all
// that belongs to it serve one goroutine at a time.
//
// Where to look: node (clock, sessions, dispatch), mirror and data (what changed), commands and
// arguments (what is refused, and read otherwise than by miniredis), blocking, transaction, pubsub,
// cluster; lua, scripts, luavalues, luanumbers; server.
package fakeredis
