// Package effects says what the servers of a run executed and what it changed, from what they
// recorded. For a server whose log is not ours to read, package explain derives it from what the
// clients did.
//
// [Join] reads the logs of servers that lockbench started. A log has effects, not commands: SET
// with an absolute expiry for a script that took a lock, DEL for its release, or for the end of a
// lease. So each step is joined to the recorded command that sent it, by key, arguments, reply and
// the time from sent to replied. Where that leaves more than one, the candidates are executed on
// the embedded server with the data of the moment, and the one is taken that does what the log says
// and replies what was recorded. A step that no command explains is nobody's: the end of a lease if
// the lease was over, what a fault did if one struck the key, or else a command of a client that
// was not recorded. Nothing is searched: the log has the order.
package effects
