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

// TestLocksStandSideBySide: a setting has a table with a column for each lock, and a figure that has
// too few samples says how many it needs.
func TestLocksStandSideBySide(t *testing.T) {
	b := aBench("")
	text := render(t, func(w io.Writer) error { return Bench(w, b) })
	_, table, _ := strings.Cut(text, `<section id="setting-0">`)
	table, _, _ = strings.Cut(table, "</section>")
	for _, want := range []string{
		`<th class="n">token</th><th class="n">watchdog-timer-normalised</th>`,
		`<div>–<span class="faint ci">12 samples, needs 1,000</span></div>`,
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}
