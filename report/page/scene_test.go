package page

import (
	"io"
	"strings"
	"testing"
)

// TestAViolationIsWholeByItself: its page, mailed alone, says what broke and which command repeats
// it.
func TestAViolationIsWholeByItself(t *testing.T) {
	s := Scene{Lock: "token", Scenario: "steady", Property: "mutual-exclusion", Cause: "double-grant", Key: "job", Story: []string{"c1 was granted the lock", "so was c2"}}
	text := render(t, func(w io.Writer) error {
		return Violation(w, s, "lockbench run --lock token --seed 7", "../report.html")
	})
	for _, want := range []string{"token × steady", "mutual-exclusion", "double-grant", "so was c2", `<pre class="command">lockbench run --lock token --seed 7</pre>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
