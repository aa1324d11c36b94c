package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// near returns the known word nearest to an unknown one, at a distance of at most one plus a third
// of the letters of either and less than half of the longer, or else the first whose beginning is
// as near: "pause-client" for "puase"; "" if there is none.
func near(word string, known []string) string {
	if best := nearest(word, known, strings.Clone); best != "" || word == "" {
		return best
	}
	return nearest(word, known, func(k string) string {
		const least = 4 // shorter beginnings match everything
		if end := strings.IndexAny(k, "-."); end >= least {
			return k[:end]
		}
		return ""
	})
}

// nearest compares a word with a part of each known one.
func nearest(word string, known []string, part func(string) string) string {
	best, at := "", len(word)
	for _, k := range known {
		p := part(k)
		if d := distance(word, p); d <= min(at, 1+min(len(word), len(p))/3) && 2*d < max(len(word), len(p)) {
			best, at = k, d-1
		}
	}
	return best
}

// Hint returns the suggestion as the end of an error: `; did you mean "token"?`, or "".
func Hint(word string, known []string) string {
	if best := near(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Unknown returns the error for a word that is not one of the known: "unknown workload "conter";
// did you mean "counter"?".
func Unknown[S ~string](what string, word S, known []S) string {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	if word == "" {
		return "is missing; known are " + List(words)
	}
	return fmt.Sprintf("unknown %s %q%s", what, word, cmp.Or(Hint(string(word), words), "; known are "+List(words)))
}

// List returns the words sorted and joined by commas.
func List(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), ", ") }

// distance returns the Levenshtein distance of two words.
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
