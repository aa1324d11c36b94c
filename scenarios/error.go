package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that is wrong with a scenario, and where.
type Error struct {
	File    string // as it was given; "--set" for an override
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // of the value, such as faults.0.when.nth
	Message string
	Source  string // the line
}

// Error gives "file:line:column: message", the source line, and a caret under the column.
func (e *Error) Error() string {
	number := fmt.Sprint(e.Line)
	return fmt.Sprintf("%s:%d:%d: %s\n  %s | %s\n  %s | %s^", e.File, e.Line, e.Column, e.Message,
		number, strings.ReplaceAll(e.Source, "\t", " "), strings.Repeat(" ", len(number)), strings.Repeat(" ", max(0, e.Column-1)))
}

// suggest names the known word that is nearest to an unknown one; "" when none is near.
func suggest(word string, known []string) string {
	best, at := "", 1+len(word)/3
	for _, k := range known {
		if d := distance(word, k); d <= at {
			best, at = k, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is how many letters must be put in, taken out or changed to make one word of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// list gives the words in a sentence, sorted.
func list(words []string) string {
	return strings.Join(slices.Sorted(slices.Values(words)), ", ")
}
