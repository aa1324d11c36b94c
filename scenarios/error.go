package scenarios

import (
	"fmt"
	"strings"
)

// Error is one error in a scenario, with its position.
type Error struct {
	File    string // as given; "--set" for an override; "" for a scenario that a program made
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // of the value: faults.0.when.nth
	Message string
	Source  string // the line
}

// Error returns "file:line:column: message", and if the line is known, the source around the column
// with a caret under it.
func (e *Error) Error() string {
	if e.File == "" { // no text of a user's
		return e.Path + ": " + e.Message
	}
	text := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	if e.Source == "" {
		return text
	}
	const most = 70 // characters of a line
	source, at := []rune(strings.ReplaceAll(e.Source, "\t", " ")), max(0, e.Column-1)
	if from := min(at, len(source)) - most/2; len(source) > most && from > 0 {
		source, at = source[from:], at-from
	}
	number := fmt.Sprint(e.Line)
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^", text, number, string(source[:min(len(source), most)]),
		strings.Repeat(" ", len(number)), strings.Repeat(" ", at))
}
