package history

// The schemas of files, which their header lines name.
const (
	operationsSchema = "lockbench/history/v1"
	// v1 lacks op, turn, script, cut and sources, and truncates arguments at 128 bytes
	commandsSchema = "lockbench/commands/v2"
	faultsSchema   = "lockbench/faults/v1"
	serverSchema   = "lockbench/server/v1" // of Executed events, or Logged steps
	// of the packed operations and commands of all clients while the run is under way, which costs a
	// client a fraction of JSON; at its end they become a history and a commands file
	recordingSchema = "lockbench/recording/v3"
)

// previous maps a schema to the version before it, which the same code reads.
var previous = map[string]string{commandsSchema: "lockbench/commands/v1", recordingSchema: "lockbench/recording/v1"}
