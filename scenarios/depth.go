package scenarios

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Limits of a scenario file. The YAML parser uses some 25 kB for each level of nesting; no scenario
// needs more than five.
const (
	maxFile  = 256 << 10 // bytes
	maxDepth = 64        // open brackets, or "- " and "? " at the start of a line
)

// tooDeep returns an error if a text is nested too deeply, by the library's own tokens: its parser
// calls itself for each level.
func tooDeep(file string, data []byte) *Error {
	brackets, dashes, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(data)) {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(brackets-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if brackets > maxDepth || dashes > maxDepth {
			e := &Error{File: file, Line: t.Position.Line, Column: t.Position.Column, Message: fmt.Sprintf("nested more than %d deep", maxDepth)}
			if lines := strings.Split(string(data), "\n"); e.Line <= len(lines) {
				e.Source = lines[e.Line-1]
			}
			return e
		}
	}
	return nil
}
