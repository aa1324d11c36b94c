package story

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// laneWidth is the width of the time axis in columns; with the labels a drawing fits a terminal of
// 80.
const laneWidth = 60

// labelWidth is the width of a lane's label, in columns.
const labelWidth = 80 - 2 - laneWidth

// laneLegend explains the marks of a drawing.
const laneLegend = "[==] holds  ## inside  !! inside after hold  .. waits  ~~ fault  ^ violation"

// draw returns the drawing: a time axis, a lane per client, a lane per fault, and a mark at the
// violation.
func (t *narrator) draw() []string {
	d := drawing{from: t.base, to: t.to} // and a little beyond the violation and the story's holds
	for i := range t.holds {
		if end := ended(&t.holds[i]); end != math.MaxInt64 && end-t.base < 4*(t.to-t.base)+4*milli {
			d.to = max(d.to, end)
		}
	}
	if d.to += (d.to - t.base) / 20; d.to <= d.from {
		return nil
	}
	clients := t.clients()
	for _, client := range clients[:min(len(clients), maxLanes)] {
		d.lane(shortened(client), t.clientLane(&d, client))
	}
	for i := range t.around.Faults {
		w := &t.around.Faults[i]
		if w.Start <= d.to && w.Last() >= d.from && t.matters(w) {
			row := blank()
			d.fill(row, w.Start, w.Last(), '~')
			shown := *w
			if shown.Client != "" {
				shown.Client = shortened(w.Client)
			}
			d.lane(shown.Label(), row)
		}
	}
	row, at, when := blank(), d.column(t.v.At), t.ms(t.v.At)
	row[at] = '^'
	if at+2+len(when) <= laneWidth { // its time is on the side that has room
		copy(row[at+2:], when)
	} else {
		copy(row[at-1-len(when):], when)
	}
	d.lane("", row)
	return append(d.finish(t), laneLegend)
}

// maxLanes is the largest number of clients drawn.
const maxLanes = 8

// ended returns when the release of a hold returned; without a release, when the client's belief
// ended.
func ended(h *checker.Hold) int64 {
	if h.Release != nil {
		return h.Release.Return
	}
	return h.End()
}

func (t *narrator) clientLane(d *drawing, client string) []byte {
	row := blank()
	for _, op := range t.around.Operations {
		if op.Client == client && op.Op == history.Acquire {
			d.fill(row, op.Call, op.Return, '.')
		}
	}
	for i := range t.around.Holds {
		h := &t.around.Holds[i]
		if h.Client != client || h.Start() > d.to || ended(h) < d.from {
			continue
		}
		for _, b := range h.Belief {
			d.fill(row, b.From, b.To, '=')
		}
		for _, u := range h.Uses {
			d.fill(row, u.Call, min(u.Return, h.End()), '#')
			d.fill(row, max(u.Call, h.End()), u.Return, '!')
		}
		for _, b := range h.Belief {
			d.mark(row, b.From, '[')
			d.mark(row, b.To, ']')
		}
	}
	return row
}

// drawing maps times to columns and gathers the lanes.
type drawing struct {
	from, to int64
	labels   []string
	rows     [][]byte
}

func blank() []byte { return []byte(strings.Repeat(" ", laneWidth)) }

func (d *drawing) column(at int64) int {
	at = min(max(at, d.from), d.to)
	return int(float64(at-d.from) / float64(d.to-d.from) * (laneWidth - 1))
}

// fill draws the part of a span that is inside the drawing.
func (d *drawing) fill(row []byte, from, to int64, c byte) {
	if to < from || to < d.from || from > d.to {
		return
	}
	for i := d.column(from); i <= d.column(to); i++ {
		row[i] = c
	}
}

// mark draws an instant, if it is in the drawing.
func (d *drawing) mark(row []byte, at int64, c byte) {
	if d.from <= at && at <= d.to {
		row[d.column(at)] = c
	}
}

func (d *drawing) lane(label string, row []byte) {
	d.labels, d.rows = append(d.labels, label), append(d.rows, row)
}

// finish puts the labels before the lanes and the axis above them.
func (d *drawing) finish(t *narrator) []string {
	width := 0
	for i, l := range d.labels {
		d.labels[i] = cut(l, labelWidth)
		width = max(width, utf8.RuneCountInString(d.labels[i]))
	}
	start, end := t.ms(d.from), t.ms(d.to)
	axis := start + strings.Repeat(" ", max(1, laneWidth-len(start)-len(end))) + end
	out := []string{strings.Repeat(" ", width+2) + axis}
	for i, row := range d.rows {
		out = append(out, strings.TrimRight(fmt.Sprintf("%-*s  %s", width, d.labels[i], row), " "))
	}
	return out
}
