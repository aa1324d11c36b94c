// Package schema has the JSON Schemas of the JSON Lines files of a run, for programs that write or
// read such files. Each schema describes one line. The package history validates the files and
// reports the position of an error.
package schema

import _ "embed"

// History is the JSON Schema of a line of a history file.
//
//go:embed history-v1.schema.json
var History []byte

// Commands is the JSON Schema of a line of a commands file.
//
//go:embed commands-v2.schema.json
var Commands []byte

// Faults is the JSON Schema of a line of a faults file.
//
//go:embed faults-v1.schema.json
var Faults []byte

// Server is the JSON Schema of a line of a server file.
//
//go:embed server-v1.schema.json
var Server []byte
