package effects

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// data is what one node holds, as its log has made it. Keys stay until the log removes them,
// whatever the time.
type data struct {
	server *fakeredis.Server // has the same
	epoch  int64             // wall-clock time of the run's base
	clock  history.Clock
	keys   map[string]entry
}

// entry is the value of a key, also as records have it.
type entry struct {
	value *fakeredis.Entry
	datum *history.Datum
}

// never is a time at which no lease has ended.
var never = time.Unix(1, 0)

func newData(server *fakeredis.Server, epoch int64) *data {
	server.SetData(never, nil)
	return &data{server: server, epoch: epoch, keys: map[string]entry{}}
}

// apply executes a command of the log, and returns what it changed; false if the embedded server
// does not know the command.
func (d *data) apply(words []string) (changes []history.DataChange, ok bool) {
	reply := d.server.Do(never, words)
	if len(reply) > 0 && reply[0] == '-' {
		return nil, false
	}
	touched := d.server.Touched()
	if len(touched) == 0 { // FLUSHALL names no key
		touched = slices.Sorted(maps.Keys(d.keys))
	}
	for i, key := range touched {
		if slices.Contains(touched[:i], key) {
			continue
		}
		if c, changed := d.put(key, d.server.Entry(key)); changed {
			changes = append(changes, c)
		}
	}
	return changes, true
}

// put sets a key; nil removes it.
func (d *data) put(key string, v *fakeredis.Entry) (c history.DataChange, changed bool) {
	was := d.keys[key]
	if same(was.value, v) {
		return c, false
	}
	c = history.DataChange{Key: key, Before: was.datum}
	if v == nil {
		delete(d.keys, key)
		return c, true
	}
	now := entry{v, d.datum(v)}
	d.keys[key], c.After = now, now.datum
	return c, true
}

// datum returns a value as records have it.
func (d *data) datum(v *fakeredis.Entry) *history.Datum {
	out := &history.Datum{Value: v.Value}
	if v.Expires != 0 {
		out.Until = d.clock.When(v.Expires - d.epoch)
	}
	return out
}

// ended reports whether the lease of a key is over at an instant of the run.
func (d *data) ended(key string, at int64) bool {
	v := d.keys[key].value
	return v != nil && v.Expires != 0 && v.Expires-d.epoch <= d.clock.At(at)
}

// replace replaces all data by those that commands make.
func (d *data) replace(commands [][]string) (changes []history.DataChange) {
	before := d.keys
	d.server.SetData(never, nil)
	d.keys = map[string]entry{}
	for _, words := range commands {
		d.apply(words)
	}
	for key, was := range before {
		if now := d.keys[key]; !same(was.value, now.value) {
			changes = append(changes, history.DataChange{Key: key, Before: was.datum, After: now.datum})
		}
	}
	for key, now := range d.keys {
		if _, had := before[key]; !had {
			changes = append(changes, history.DataChange{Key: key, After: now.datum})
		}
	}
	sortChanges(changes)
	return changes
}

// retime sets the clock, and returns the leases that end at another time now.
func (d *data) retime(c history.Clock) (changes []history.DataChange) {
	d.clock = c
	for key, e := range d.keys {
		if now := d.datum(e.value); now.Until != e.datum.Until {
			changes = append(changes, history.DataChange{Key: key, Before: e.datum, After: now})
			d.keys[key] = entry{e.value, now}
		}
	}
	sortChanges(changes)
	return changes
}

func sortChanges(changes []history.DataChange) {
	slices.SortFunc(changes, func(a, b history.DataChange) int { return strings.Compare(a.Key, b.Key) })
}

// same reports whether two values are equal; nil is no value.
func same(a, b *fakeredis.Entry) bool { return alike(a, b, 0) }

// alike is same for leases that end at times that differ by at most so much.
func alike(a, b *fakeredis.Entry, most int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	leases := (a.Expires == 0) == (b.Expires == 0) && max(a.Expires, b.Expires)-min(a.Expires, b.Expires) <= most
	return leases && (reflect.DeepEqual(a.Value, b.Value) || most > 0 && scored(a, b, most))
}

// scored reports whether two sorted sets have the same members, with scores that differ, as
// instants in milliseconds, by no more than so many nanoseconds.
func scored(a, b *fakeredis.Entry, most int64) bool {
	x, isX := a.Value.(map[string]float64)
	y, isY := b.Value.(map[string]float64)
	return isX && isY && maps.EqualFunc(x, y, func(s, t float64) bool {
		return s == t || min(s, t) > 1e9 && math.Abs(s-t) <= float64(most)/1e6+1
	})
}

// values returns the data for the embedded server: all, or of many keys those that may concern a
// command of some keys.
func (d *data) values(keys []string) fakeredis.Data {
	const few = 64
	out := make(fakeredis.Data, min(len(d.keys), few))
	for key, e := range d.keys {
		if len(d.keys) <= few || slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(key, bare(k)) }) {
			out[key] = e.value
		}
	}
	return out
}

// bare returns a key, or what is between its braces: keys that are made from it have it in their
// names.
func bare(key string) string {
	_, within, _ := strings.Cut(key, "{")
	within, _, _ = strings.Cut(within, "}")
	return cmp.Or(within, key)
}
