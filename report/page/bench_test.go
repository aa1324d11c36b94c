package page

import (
	"io"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
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
	holds(t, text, "<strong>Holds per second, by clients</strong>", "<strong>From a release to the next grant, in round trips, 8 clients</strong>")
}

// TestLocksStandSideBySide: a setting has a table with a column for each lock; a figure that has too
// few samples says how many it needs, and one without an interval why.
func TestLocksStandSideBySide(t *testing.T) {
	b := aBench("")
	pooled := 8e5
	b.Cells[1].Figures["acquire.p99"] = results.Figure{Unit: results.Nanoseconds, Value: &pooled, Samples: 217, Pooled: true}
	text := render(t, func(w io.Writer) error { return Bench(w, b) })
	_, table, _ := strings.Cut(text, `<section id="setting-0">`)
	table, _, _ = strings.Cut(table, "</section>")
	holds(t, table,
		`<th class="n">token</th><th class="n">watchdog-timer-normalised</th>`,
		`<div>800µs<span class="faint ci">of all repetitions together</span></div>`,
		`<div>–<span class="faint ci">12 samples, needs 1,000</span></div>`)
}
