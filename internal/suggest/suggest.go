// Package suggest finds the known word that was probably meant. Everything that takes a name from a person uses it, so that
// all errors suggest alike. It suggests nothing when no known word is near.
package suggest

import "fmt"

// near returns the known word that is nearest to an unknown one, at most a third of its letters and one away; "" when none is.
func near(word string, known []string) string {
	best, at := "", 1+len(word)/3
	for _, k := range known {
		if d := distance(word, k); d <= at {
			best, at = k, d-1
		}
	}
	return best
}

// Hint is near as the end of an error: `; did you mean "token"?`, or "".
func Hint(word string, known []string) string {
	if best := near(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// distance returns how many letters must be inserted, deleted or changed to make one word of the other (Levenshtein).
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
