package resp

import (
	"strings"
	"testing"
)

// TestCommandTable checks the entries of the table. A number of words that cannot be parsed becomes
// 0.
func TestCommandTable(t *testing.T) {
	for name, c := range commands {
		if c.words == 0 || c.name != name || len(name) > longestName && !strings.Contains(name, "|") {
			t.Errorf("%q: %+v", name, c)
		}
	}
	if got := Words("SET"); got != -3 {
		t.Errorf("SET has %d words, want -3", got)
	}
}
