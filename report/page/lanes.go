package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
)

// The most rows that are drawn.
const (
	maxClients   = 24
	maxFaultRows = 10
)

// lanes is the picture of holds: the calls of each client and their outcomes. Times are nanoseconds
// since the start of the run.
type lanes struct {
	From  int64    `json:"from"`
	To    int64    `json:"to"`
	Focus [2]int64 `json:"focus"`
	Rows  []row    `json:"rows"`
	Marks []item   `json:"marks"`
	left  []string // descriptions of what is not drawn
}

// row is a fault with its windows, or a client.
type row struct {
	Kind     string `json:"kind"` // fault or client
	Name     string `json:"name"`
	Spans    []item `json:"spans,omitempty"`
	Shade    []item `json:"shade,omitempty"` // faults that hit this client
	Waits    []item `json:"waits,omitempty"`
	Holds    []hold `json:"holds,omitempty"`
	Lost     []item `json:"lost,omitempty"`
	Commands []item `json:"commands,omitempty"`
}

type hold struct {
	Belief   [][2]int64 `json:"belief"`
	Possible *[2]int64  `json:"possible,omitempty"`
	Kept     string     `json:"kept,omitempty"` // description of possible
	Uses     []item     `json:"uses"`
	Grants   []item     `json:"grants,omitempty"`
	Release  item       `json:"release,omitempty"`
	Label    string     `json:"label,omitempty"`
	Text     string     `json:"text"`
}

// drawing builds the rows of a window.
type drawing struct {
	*lanes
	g     *digest
	first map[string]bool // clients of violations
}

// newLanes returns the picture of a digest's window; nil if it is empty.
func newLanes(g *digest, holds []checker.Hold, violations []*checker.Violation) *lanes {
	from, to := g.window.span()
	if from > to {
		return nil
	}
	pad := max((to-from)/100, 1000)
	d := &drawing{lanes: &lanes{From: from - pad, To: to + pad, Marks: []item{}}, g: g, first: map[string]bool{}}
	for _, v := range violations {
		if v.Key == g.window.key {
			d.Marks = append(d.Marks, item{v.At, fmt.Sprintf("%s broken by %s at %s: %s", v.Property, v.Cause, report.Instant(v.At), strings.Join(v.Clients, ", "))})
			for _, c := range v.Clients {
				d.first[c] = true
			}
		}
	}
	slices.SortFunc(d.Marks, func(a, b item) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
	d.setFocus(holds, violations)
	more := 0
	for _, f := range g.faults {
		if f.Start > d.To || f.Last() < d.From {
			continue
		}
		i := slices.IndexFunc(d.Rows, func(r row) bool { return r.Name == f.Label() })
		if i < 0 && len(d.Rows) == maxFaultRows {
			more++
			continue
		}
		if i < 0 {
			i = len(d.Rows)
			d.Rows = append(d.Rows, row{Kind: "fault", Name: f.Label()})
		}
		d.Rows[i].Spans = append(d.Rows[i].Spans, append(d.shade(f, ""), f.Confirmed))
	}
	if more > 0 {
		d.left = append(d.left, fmt.Sprintf("%d more fault windows", more))
	}
	d.clientRows(holds)
	omitted := func(n int64, what string) {
		if n > 0 {
			d.left = append(d.left, report.Count(n)+what)
		}
	}
	omitted(g.window.left, " operations on the same key further away")
	omitted(g.window.other, " operations on other keys")
	if len(g.commands) == maxCommands {
		d.left = append(d.left, "commands beyond the first "+report.Count(maxCommands)+" in the picture")
	}
	return d.lanes
}

// setFocus picks the first view: before the first violation, or the beginning.
func (d *drawing) setFocus(holds []checker.Hold, violations []*checker.Violation) {
	d.Focus = [2]int64{d.From, d.To}
	lease := d.g.header.Lease
	if lease == 0 {
		lease = (d.To - d.From) / 4
	}
	var at int64
	switch {
	case len(violations) > 0 && len(d.Marks) > 0:
		at = violations[0].At
	case len(d.g.window.at) > 0:
		at = d.g.window.at[0]
	default:
		d.Focus[1] = min(d.To, d.From+6*lease)
		return
	}
	from, to := at-lease, at+lease*3/4
	for _, h := range holds { // include the whole holds around it
		if d.first[h.Client] && h.Acquire.Call < at && end(h) > at && h.Acquire.Call > at-10*lease {
			from = min(from, h.Acquire.Call-lease/10)
		}
	}
	for i := range d.g.drawn { // and what the clients of the violation were doing, which a fault may have stretched
		if op := &d.g.drawn[i]; d.first[op.Client] && op.Call <= at && at <= op.Return && op.Return < at+10*lease {
			to = max(to, op.Return+lease/4)
		}
	}
	d.Focus = [2]int64{max(d.From, from), min(d.To, to)}
}

// end returns the end of a hold's last belief.
func end(h checker.Hold) int64 {
	if n := len(h.Belief); n > 0 {
		return h.Belief[n-1].To
	}
	return h.Acquire.Return
}

// shade is the interval of a fault in the picture, with what is told of it behind a word.
func (d *drawing) shade(f history.Window, word string) item {
	text := word + f.Label() + " from " + report.Instant(f.Start)
	if f.End > 0 {
		text += " to " + report.Instant(f.End) + " (" + report.Span(f.End-f.Start) + ")"
	} else {
		text += ", not healed in this run"
	}
	if !f.Confirmed {
		text += ", not confirmed"
	}
	for _, more := range []string{f.Moment, f.Note} {
		if more != "" {
			text += "; " + more
		}
	}
	return item{f.Start, d.within(f.Last()), text}
}

// within clamps an instant to the drawn window.
func (d *drawing) within(at int64) int64 { return min(max(at, d.From), d.To) }

// clientRows adds a row for each client with operations, and for the clients of violations.
func (d *drawing) clientRows(holds []checker.Hold) {
	rows := map[string]*row{}
	get := func(name string) *row {
		if rows[name] == nil {
			rows[name] = &row{Kind: "client", Name: name}
		}
		return rows[name]
	}
	for i := range d.g.drawn {
		op := &d.g.drawn[i]
		switch r := get(op.Client); op.Op {
		case history.Acquire:
			text := fmt.Sprintf("%s called acquire at %s: %s (%s)", op.Client, report.Instant(op.Call), outcome(op), report.Span(op.Return-op.Call))
			r.Waits = append(r.Waits, item{op.Call, op.Return, text, op.Outcome.String()})
		case history.Lost:
			r.Lost = append(r.Lost, item{op.Call, fmt.Sprintf("the lock reported to %s at %s that its hold was lost", op.Client, report.Instant(op.Call))})
		}
	}
	for _, h := range holds {
		if h.Acquire.Call <= d.To && (end(h) >= d.From || h.Possible.To >= d.From) {
			r := get(h.Client)
			r.Holds = append(r.Holds, d.hold(h))
		}
	}
	names := slices.SortedFunc(maps.Keys(rows), natural)
	slices.SortStableFunc(names, func(a, b string) int { // the clients of violations first
		rank := map[bool]int{true: -1}
		return rank[d.first[a]] - rank[d.first[b]]
	})
	if n := len(names) - maxClients; n > 0 {
		names = names[:maxClients]
		d.left = append(d.left, fmt.Sprintf("%d more clients", n))
	}
	slices.SortFunc(names, natural)
	everywhere := d.everywhere()
	for _, name := range names {
		r := rows[name]
		r.Shade = slices.Clone(everywhere)
		for _, f := range d.g.faults {
			if f.Client == name {
				r.Shade = append(r.Shade, d.shade(f, ""))
			}
		}
		for i := range d.g.commands {
			if c := &d.g.commands[i]; c.Client == name {
				r.Commands = append(r.Commands, d.command(c))
			}
		}
		d.Rows = append(d.Rows, *r)
	}
}

// everywhere returns the intervals in which a fault that hits no particular client was active, with
// overlapping ones joined.
func (d *drawing) everywhere() (out []item) {
	all := slices.DeleteFunc(slices.Clone(d.g.faults), func(f history.Window) bool { return f.Client != "" || f.Start > d.To || f.Last() < d.From })
	slices.SortFunc(all, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	for _, f := range all {
		if n := len(out); n > 0 && f.Start <= out[n-1][1].(int64) {
			out[n-1][1] = max(out[n-1][1].(int64), d.within(f.Last()))
			continue
		}
		out = append(out, d.shade(f, "active: "))
	}
	return out
}

// natural orders names so that c2 comes before c10.
func natural(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func outcome(op *history.Operation) string {
	words := map[history.Outcome]string{history.OK: "granted", history.Busy: "refused, held by another", history.Unknown: "no reply; it may have taken effect",
		history.Fail: "failed, without effect"}
	text := cmp.Or(words[op.Outcome], op.Outcome.String())
	if op.Err != "" {
		text += " (" + report.Short(op.Err, 80) + ")"
	}
	return text
}

func (d *drawing) hold(h checker.Hold) hold {
	out := hold{Belief: [][2]int64{}, Uses: []item{}}
	var words []string
	if h.Fence > 0 {
		out.Label = fmt.Sprintf("fence %d", h.Fence)
	}
	if h.Mode == history.Shared {
		out.Label = strings.TrimSpace("shared " + out.Label)
	}
	if h.Token != "" {
		words = append(words, "token "+report.Short(h.Token, 40))
	}
	if out.Label != "" {
		words = append(words, out.Label)
	} else {
		out.Label = report.Short(h.Token, 9)
	}
	words = append(words, "granted at "+report.Instant(h.Acquire.Return))
	for _, b := range h.Belief {
		out.Belief = append(out.Belief, [2]int64{b.From, d.within(b.To)})
	}
	if n := len(h.Belief); n > 0 {
		words = append(words, "believes in it until "+until(h.Belief[n-1].To))
	}
	from := h.Possible.From
	if len(h.Belief) > 0 {
		from = h.Belief[0].From // while it waited, the server had nothing of it to keep
	}
	if h.Possible.To > from {
		out.Possible = &[2]int64{from, d.within(h.Possible.To)}
		out.Kept = fmt.Sprintf("the server may have kept %s's hold until %s", h.Client, until(h.Possible.To))
	}
	out.Text = h.Client + " holds: " + strings.Join(words, ", ")
	for _, u := range h.Uses {
		out.Uses = append(out.Uses, item{u.Call, u.Return, fmt.Sprintf("%s is inside the critical section from %s to %s", h.Client, report.Instant(u.Call), report.Instant(u.Return))})
	}
	for _, g := range h.Extends {
		out.Grants = append(out.Grants, item{g.Return, fmt.Sprintf("%s: %s returned %s at %s", h.Client, g.Op, outcome(&g), report.Instant(g.Return))})
	}
	if r := h.Release; r != nil {
		out.Release = item{r.Call, r.Return, fmt.Sprintf("%s releases at %s: %s", h.Client, report.Instant(r.Call), cmp.Or(r.Outcome.String(), "no reply"))}
	}
	return out
}

func until(at int64) string {
	if at == math.MaxInt64 {
		return "a notice of loss"
	}
	return report.Instant(at)
}

func (d *drawing) command(c *history.Command) item {
	words := append([]string{c.Name}, c.Args...)
	for i := range words {
		words[i] = report.Short(words[i], 48)
	}
	ends, reply := c.Replied, report.Short(c.Reply, 60)
	if c.Replied == 0 {
		ends, reply = d.To, "no reply"
	}
	where := "guarded store"
	if c.Node >= 0 {
		where = history.Node(c.Node).String()
	}
	text := fmt.Sprintf("%s → %s at %s: %s → %s", c.Client, where, report.Instant(c.Sent), strings.Join(words, " "), reply)
	if c.Replied > 0 {
		text += " (" + report.Span(c.Replied-c.Sent) + ")"
	}
	short := c.Name
	if len(c.Args) > 0 && c.IsScript() {
		short = report.Short(c.Args[0], 24)
	}
	return item{c.Sent, ends, text, c.Replied == 0 || c.Failed(), short + " → " + report.Short(reply, 12)}
}
