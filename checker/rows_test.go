package checker

import "github.com/lockbench/lockbench/history"

// rows are the histories of all properties with their verdicts; each rows_*_test.go holds those of a few.
func rows() []row {
	var all []row
	all = append(all, exclusionRows...)
	all = append(all, storeRows...)
	all = append(all, releaseRows...)
	all = append(all, fenceRows...)
	all = append(all, waitRows...)
	all = append(all, reentrantRows...)
	all = append(all, turnRows...)
	return append(all, renewalRows...)
}

// crashOf is the record of a client's crash.
func crashOf(client string, at int64) Input {
	return Input{Faults: []history.Window{{Fault: faultCrashClient, Client: client, Start: at, Confirmed: true}}}
}

// commands is a record with these commands.
func commands(list ...history.Command) Input { return Input{Commands: list} }
