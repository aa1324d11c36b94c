// Package schema has the JSON Schemas of what is said between lockbench and a child, see package
// subject: each describes one line.
package schema

import _ "embed"

// Request is the JSON Schema of a line to a child.
//
//go:embed child-request-v1.schema.json
var Request []byte

// Reply is the JSON Schema of a line from a child.
//
//go:embed child-reply-v1.schema.json
var Reply []byte
