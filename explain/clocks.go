package explain

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// readClocks returns, for each client and argument of its requests, how far the times in it are ahead of true time, at most: a request may be sent some time
// after its client has read the clock. It notes when each client first sent each time.
func (r *run) readClocks() map[string]map[argument]int64 {
	latest := map[string]map[argument]int64{}
	r.readAt = map[reading]int64{}
	for i := range r.Commands {
		c := &r.Commands[i]
		for n, arg := range c.Args {
			at, unit := r.timeIn(arg, c.Sent)
			if unit == 0 {
				continue
			}
			if latest[c.Client] == nil {
				latest[c.Client] = map[argument]int64{}
			}
			if at, known := r.readAt[reading{c.Client, arg}]; !known || c.Sent < at {
				r.readAt[reading{c.Client, arg}] = c.Sent
			}
			which, ahead := argument{shapeOf(c), n}, at-r.Header.Epoch-c.Sent
			if most, known := latest[c.Client][which]; !known || ahead > most {
				latest[c.Client][which] = ahead
			}
		}
	}
	return latest
}

// ahead returns how far a client's clock is ahead of another's, by the times in the same argument of their requests; 0 if by no more than a millisecond or the
// unit of those times, or if that is not known.
func (r *run) ahead(c *history.Command, arg, other string) int64 {
	which := argument{shapeOf(c), slices.Index(c.Args, arg)}
	its, known := r.clocks[c.Client][which]
	theirs, both := r.clocks[other][which]
	_, unit := r.timeIn(arg, c.Sent)
	if off := its - theirs; known && both && max(off, -off) > int64(max(unit, float64(time.Millisecond))) {
		return off
	}
	return 0
}

// wrongClocks returns how far the clocks of clients that a fault had set wrong are ahead, by the times in their requests: compared with those in the same
// argument of the other clients' requests or, if there are none, with true time.
func (r *run) wrongClocks() map[string]int64 {
	off := map[string]int64{} // by client
	for _, w := range r.confirmed(func(w *history.Window) bool { return w.Fault == faults.SkewClient && w.Client != "" }) {
		off[w.Client] = 0
	}
	for client := range off {
		for which, ahead := range r.clocks[client] {
			for other, theirs := range r.clocks {
				if right, known := theirs[which]; known && !isWrong(off, other) {
					ahead = min(ahead, r.clocks[client][which]-right)
				}
			}
			if max(ahead, -ahead) > max(off[client], -off[client]) {
				off[client] = ahead
			}
		}
	}
	return off
}

func isWrong(off map[string]int64, client string) bool {
	_, wrong := off[client]
	return wrong
}

// byClocks explains a grant that would not have been made had the clocks of clients been right since the first's attempt. What refused tries of the second
// did meanwhile may stay or not.
func (m *overlap) byClocks(pairs []pairing, spare int) Answer {
	a := m.byWrongClocks(func(right []string) bool {
		lost := 0
		for _, p := range pairs {
			refused := func(left without) bool {
				return m.granted(p.first, p.first.events[0], left) && m.lacks(p, p.first.events[0], left)
			}
			if refused(without{right: right}) || refused(without{right: right, events: m.earlierTries(p)}) {
				lost++
			}
		}
		return lost > spare
	}, Name(m.second.Client), " would have been refused")
	if a.Cause != "" {
		a.Events = []Event{pairs[0].first.reported(), pairs[0].second.reported()}
	}
	return a
}

// earlierTries returns what the second's client did, since the first's attempt, in tries before the one that was granted.
func (m *overlap) earlierTries(p pairing) (all []int) {
	for _, try := range m.vain(m.second, p.second.node) {
		for _, i := range try {
			if i > p.first.events[0] && i < p.to() && len(p.second.node.events[i].changes) > 0 {
				all = append(all, i)
			}
		}
	}
	slices.Sort(all)
	return all
}

// reading is a time that a client sent.
type reading struct{ client, text string }

// argument is a place in requests of one kind.
type argument struct {
	shape
	at int
}

// byWrongClocks finds the fewest clients whose clocks, had they been right, would have changed an outcome, and says so; effect is the other outcome.
func (r *run) byWrongClocks(changed func(right []string) bool, effect ...any) Answer {
	var wrong []string
	for client, off := range r.off {
		if max(off, -off) > int64(time.Millisecond) {
			wrong = append(wrong, client)
		}
	}
	if slices.Sort(wrong); len(wrong) == 0 || !changed(wrong) {
		return Answer{}
	}
	var all []statement
	for _, client := range fewest(wrong, changed) {
		by, way := r.off[client], " ahead"
		if by < 0 {
			by, way = -by, " behind"
		}
		all = append(all, sentence("the clock of ", Name(client), " not been ", Length(by), way))
	}
	return because(verdicts.ClockSkew, sentence("had ", listed(all), ", ", sentence(effect...)))
}
