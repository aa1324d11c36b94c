package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one error in a scenario, with its position.
type Error struct {
	File    string // as given; "--set" for an override
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // of the value: faults.0.when.nth
	Message string
	Source  string // the line
}

// Error returns "file:line:column: message", the source line, and a caret under the column.
func (e *Error) Error() string {
	number := fmt.Sprint(e.Line)
	return fmt.Sprintf("%s:%d:%d: %s\n  %s | %s\n  %s | %s^", e.File, e.Line, e.Column, e.Message,
		number, strings.ReplaceAll(e.Source, "\t", " "), strings.Repeat(" ", len(number)), strings.Repeat(" ", max(0, e.Column-1)))
}

// list returns the words sorted and joined by commas.
func list(words []string) string {
	return strings.Join(slices.Sorted(slices.Values(words)), ", ")
}
