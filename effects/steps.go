package effects

import (
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/internal/resp"
)

// following returns what comes next in the log.
func (d *deriver) following() *outcome {
	if d.ahead != nil && d.ahead.place == d.place {
		return d.ahead
	}
	d.ahead = &outcome{place: d.place, read: math.MaxInt64}
	if !d.ends() {
		s := d.log[d.step]
		if d.ahead.read = s.At; s.Effect == "" {
			d.ahead.commands = s.Log[d.off:]
		}
	}
	return d.ahead
}

// outcome executes what comes next in the log, if that has not been done.
func (d *deriver) outcome() *outcome {
	o := d.following()
	if o.commands != nil && !o.known {
		var reply string
		reply, o.puts = d.try(o.commands, always, nil)
		o.known, o.unknown = true, strings.HasPrefix(reply, "-")
	}
	return o
}

// take adds an event that executed what comes next in the log, or so many commands of it.
func (d *deriver) take(at, to int64, e derived, commands int) {
	o := d.outcome()
	puts := o.puts
	if d.off += commands; commands == len(o.commands) {
		d.place = place{step: d.step + 1}
	} else {
		_, puts = d.try(o.commands[:commands], always, nil)
	}
	e.to = min(to, o.read)
	if e.Open = e.Open || o.unknown; len(puts) > 0 || e.Open {
		d.push(at, e, puts)
	}
}

// tellTime adds the changes of the node's clock up to a time.
func (d *deriver) tellTime(until int64) {
	for len(d.effects) > 0 && d.effects[0].At <= until {
		d.suffer(d.effects[0])
	}
}

// ends reports whether the whole log has been explained.
func (d *deriver) ends() bool { return d.step == len(d.log) }

func (d *deriver) skips(commands [][]string) bool {
	return d.Skip != nil && !slices.ContainsFunc(commands, func(words []string) bool {
		keys := resp.Keys(words)
		return len(keys) == 0 || slices.ContainsFunc(keys, func(key string) bool { return !d.Skip(key) })
	})
}
