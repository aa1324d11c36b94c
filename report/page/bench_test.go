package page

import (
	"io"
	"strings"
	"testing"
)

// TestTitlesSayHowManyClients: a chart is by clients if it has several numbers of them, and else
// says how many there were.
func TestTitlesSayHowManyClients(t *testing.T) {
	b := aBench("")
	for _, c := range b.Cells {
		if c.Setting.Clients != 8 {
			delete(c.Figures, "hand-over.trips.p50")
		}
	}
	text := render(t, func(w io.Writer) error { return Bench(w, b) })
	for _, want := range []string{"<strong>Holds per second, by clients</strong>", "<strong>From a release to the next grant, in round trips, 8 clients</strong>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
