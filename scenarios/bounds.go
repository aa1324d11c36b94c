package scenarios

import (
	"bytes"
	"fmt"
)

// What a scenario file may be. The YAML parser needs memory for each level of nesting, some 25 kB; no scenario needs more than five.
const (
	maxFile  = 256 << 10 // bytes
	maxDepth = 64        // brackets, or "- " and "? " at the beginning of a line, that are open at once
)

// outOfBounds returns an error for a file that is too large or nested too deeply to be parsed; nil for any other.
func outOfBounds(file string, data []byte) error {
	if len(data) > maxFile {
		return &Error{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("the file has %d bytes, a scenario has at most %d", len(data), maxFile)}
	}
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

// head is as much of a line as an error shows.
func head(line []byte) string { return string(line[:min(len(line), 2*maxDepth+16)]) }
