// Package effects says what the servers of a run executed and what it changed.
//
// [Derive] executes the recorded commands once more on the embedded server, each node's in an order
// in which all are replied as recorded: two commands may change places if they overlap in time.
// Servers that lockbench started have kept a log, which has effects and not commands: SET with an
// absolute expiry for a script that took a lock, DEL for its release, or for the end of a lease.
// With it ([Join]), what a command changes must be what the log says next, so that the log has the
// order of all that changed something, and the replies of the others say where they fall between
// them. A step that no command explains is the end of a lease if the lease was over, what a fault
// did if one struck the key, or else a command of a client that was not recorded.
//
// derive.go is on top; no file uses what stands above it.
//
// Data flow: commands → order by midpoints → search → events; a log → steps → the search's
// constraint.
package effects
