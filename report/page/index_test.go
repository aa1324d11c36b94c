package page

import "testing"

// TestLinks: a record leads to its page, and one that has none to its story.
func TestLinks(t *testing.T) {
	for want, e := range map[string]Entry{
		"a%20b/report.html":     {Kind: "run", Dir: "runs/a b"},
		"explore-x/report.html": {Kind: "explore", Dir: "runs/explore-x"},
		// a client that never ends leaves no record
		"explore-y/violations/001.txt": {Kind: "explore", Dir: "runs/explore-y", Story: true},
	} {
		if got := e.Link(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
