// Package harness runs one experiment on real servers: a lock, a scenario, a provider of servers. It brings the servers up,
// connects the clients, lets a workload drive them while faults strike, records what every client saw, has the record judged,
// and saves it three times: when it started, when it was driven, when it was checked.
//
// Clients are goroutines, for throughput, or processes of their own that are really stopped and really killed. Which it is changes
// nothing else: the same workload code talks to the same lock code, and the same Director places the faults.
//
// It refuses to judge: the checker does. It refuses to lose what was recorded: operations, commands and fault windows are spooled
// while the run goes on, and the history is saved before it is checked. [Suite] runs many experiments side by side, each on servers of
// its own, and holds each against what the catalogue expects.
package harness
