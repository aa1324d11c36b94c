// Package schema holds the JSON Schemas of the files that lockbench writes, for programs that read
// them. It validates nothing.
package schema

import _ "embed"

// Result is the JSON Schema of result.json and of "run -o json".
//
//go:embed result.schema.json
var Result []byte
