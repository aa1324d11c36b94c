package explain

import (
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// This file finds the times in requests that a client had read from a wrong clock, and what a right
// one would have shown.

// units are the units of the times in requests.
var units = [...]int64{1_000_000_000, 1_000_000, 1_000, 1}

// timeIn returns the instant of the run that a word may be, and its unit; 0: it is none. Such an
// instant is within an hour of when it was sent.
func (r *run) timeIn(word string, sent int64) (at, unit int64) {
	if len(word) < 9 || len(word) > 19 {
		return 0, 0
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, 0
	}
	const hour = 3_600_000_000_000
	for _, unit := range units {
		now := (r.Header.Epoch + sent) / unit
		if away := n - now; away < hour/unit && away > -hour/unit {
			return n*unit - r.Header.Epoch, unit
		}
	}
	return 0, 0
}

// readClock notes how far ahead the times in a request are.
func (r *run) readClock(c *history.Command) {
	if r.Header.Epoch == 0 {
		return
	}
	for i, arg := range c.Args {
		at, unit := r.timeIn(arg, c.Sent)
		if unit == 0 {
			continue
		}
		a := argument{c.Client, history.KindOf(c.Name, c.Script), i}
		if most, known := r.clocks[a]; !known || at-c.Sent > most {
			r.clocks[a] = at - c.Sent
		}
	}
}

// off returns how far a client's clock was ahead in an argument, compared with the clients whose
// clocks no fault had set wrong or, if none sent such a request, with true time.
func (r *run) off(a argument) int64 {
	wrong := func(client string) bool {
		return slices.ContainsFunc(r.Faults, func(w history.Window) bool {
			return w.Confirmed && w.Does.Any(history.SkewsClient) && w.Client == client
		})
	}
	ahead, known := r.clocks[a]
	if !known || !wrong(a.client) {
		return 0
	}
	right, found := int64(0), false
	for o, theirs := range r.clocks {
		if o.kind == a.kind && o.index == a.index && !wrong(o.client) && (!found || theirs > right) {
			right, found = theirs, true
		}
	}
	return ahead - right
}

// righted returns a request's arguments with the times of a right clock, and the words that differ.
func (r *run) righted(c *history.Command) (args []string, instead map[string]string) {
	args, instead = slices.Clone(c.Args), map[string]string{}
	for i, arg := range args {
		at, unit := r.timeIn(arg, c.Sent)
		if unit == 0 {
			continue
		}
		if off := r.off(argument{c.Client, history.KindOf(c.Name, c.Script), i}); off >= 1_000_000 || off <= -1_000_000 {
			args[i] = strconv.FormatInt((at-off+r.Header.Epoch)/unit, 10)
			instead[arg] = args[i]
		}
	}
	return args, instead
}
