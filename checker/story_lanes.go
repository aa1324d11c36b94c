package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// laneWidth is how many columns the time axis takes; with the labels a drawing fits a terminal of 80.
const laneWidth = 60

// laneLegend explains the marks of a drawing.
const laneLegend = "[==] holds  ## inside the critical section  !! inside after the hold had ended  ~~ fault  ^ the violation"

// draw makes the lane drawing: a time axis, a lane for each client, a lane for each fault, and a mark at the violation.
func (t *teller) draw() []string {
	d := drawing{from: t.base, to: t.drawnTo()}
	if d.to <= d.from {
		return nil
	}
	for _, client := range t.laneClients() {
		d.lane(client, t.clientLane(&d, client))
	}
	for i := range t.s.faults {
		w := &t.s.faults[i]
		if w.Start <= d.to && w.Last() >= d.from && t.matters(w) {
			row := blank()
			d.fill(row, w.Start, w.Last(), '~')
			d.lane(faultLabel(w), row)
		}
	}
	d.lane("", t.caret(&d))
	return append(d.finish(t), laneLegend)
}

// caret marks the violation, with its time on the side that has room.
func (t *teller) caret(d *drawing) []byte {
	row, at, when := blank(), d.column(t.v.At), t.ms(t.v.At)
	row[at] = '^'
	if at+2+len(when) <= laneWidth {
		copy(row[at+2:], when)
	} else {
		copy(row[at-1-len(when):], when)
	}
	return row
}

// drawnTo is the end of the drawing: a little past the violation and the story's holds.
func (t *teller) drawnTo() int64 {
	to := t.to
	for _, h := range t.cast {
		if end := h.ended(); end != never && end-t.from < 4*(t.to-t.from)+4*milli {
			to = max(to, end)
		}
	}
	return to + (to-t.from)/20
}

// laneClients are the clients of the story, in the order in which they come in.
func (t *teller) laneClients() []string {
	const most = 8
	var out []string
	add := func(c string) {
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, h := range t.cast {
		add(h.client())
	}
	if st := t.s.reason.step; st != nil {
		add(st.Client)
	}
	for _, c := range t.v.Clients {
		add(c)
	}
	return out[:min(len(out), most)]
}

func (t *teller) clientLane(d *drawing, client string) []byte {
	row := blank()
	for _, op := range t.s.ops {
		if op.Client == client && op.Op == history.Acquire {
			d.fill(row, op.Call, op.Return, '.')
		}
	}
	for _, h := range t.s.holds {
		if h.client() != client || h.start() > d.to || h.ended() < d.from {
			continue
		}
		d.fill(row, h.start(), h.end(), '=')
		for _, u := range h.uses {
			d.fill(row, u.Call, min(u.Return, h.end()), '#')
			d.fill(row, max(u.Call, h.end()), u.Return, '!')
		}
		d.mark(row, h.start(), '[')
		d.mark(row, h.end(), ']')
	}
	return row
}

func faultLabel(w *history.Window) string {
	if w.Client != "" {
		return w.Fault + " " + w.Client
	}
	if w.Node >= 0 {
		return fmt.Sprintf("%s n%d", w.Fault, w.Node)
	}
	return w.Fault
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

// fill draws a span; one that is not in the drawing at all leaves no mark.
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
func (d *drawing) finish(t *teller) []string {
	width := 0
	for _, l := range d.labels {
		width = max(width, len(l))
	}
	start, end := t.ms(d.from), t.ms(d.to)
	axis := start + strings.Repeat(" ", max(1, laneWidth-len(start)-len(end))) + end
	out := []string{strings.Repeat(" ", width+2) + axis}
	for i, row := range d.rows {
		out = append(out, strings.TrimRight(fmt.Sprintf("%-*s  %s", width, d.labels[i], row), " "))
	}
	return out
}
