package scenarios

import (
	"bytes"
	"fmt"
)

// Limits of a scenario file. The YAML parser uses some 25 kB for each level of nesting; no scenario needs more than five.
const (
	maxFile  = 256 << 10 // bytes
	maxDepth = 64        // open brackets, or "- " and "? " at the start of a line
)

// outOfBounds returns an error if a file is too large or nested too deeply.
func outOfBounds(file string, data []byte) *Error {
	if len(data) > maxFile {
		return &Error{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("the file has %d bytes, a scenario has at most %d", len(data), maxFile)}
	}
	return tooDeep(file, data)
}

// tooDeep returns an error if a text is nested too deeply.
func tooDeep(file string, data []byte) *Error {
	depth := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		dashes, start := 0, true
		for j, c := range line {
			switch {
			case c == '[' || c == '{':
				depth++
			case (c == ']' || c == '}') && depth > 0:
				depth--
			case start && (c == '-' || c == '?'):
				dashes++
			}
			start = start && (c == ' ' || c == '-' || c == '?')
			if depth > maxDepth || dashes > maxDepth && j < len(line)-1 {
				return &Error{File: file, Line: i + 1, Column: j + 1, Message: fmt.Sprintf("nested more than %d deep", maxDepth), Source: head(line)}
			}
		}
	}
	return nil
}

// head returns the part of a line that an error shows.
func head(line []byte) string { return string(line[:min(len(line), 2*maxDepth+16)]) }
