// Package schema holds the JSON Schemas of the three JSON Lines files that make up a record, for people who write them with
// programs of their own and have them checked, or read them. Each schema describes one line. It validates nothing:
// package history reads the files, and says of a bad line where and why.
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
