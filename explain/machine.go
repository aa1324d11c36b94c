package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// clock is a node's clock: its offset from true time, and its rate error in parts per million since an instant.
type clock struct{ offset, ppm, since int64 }

// at returns the node's own time at an instant of the run.
func (c clock) at(t int64) int64 { return t + c.offset + (t-c.since)*c.ppm/1_000_000 }

// length returns how long a stretch of the node's own time is, by true time.
func (c clock) length(own int64) int64 {
	return int64(float64(own) * 1_000_000 / float64(max(1_000_000+c.ppm, 1)))
}

// when returns the first instant of the run at which the node's own time is not before own.
func (c clock) when(own int64) int64 {
	passed, rate := own-c.since-c.offset, max(1_000_000+c.ppm, 1) // since the rate was set, by the node's own clock
	t := c.since + passed/rate*1_000_000 + passed%rate*1_000_000/rate
	for c.at(t) < own {
		t++
	}
	return t
}

// after returns the clock after the effect of a fault.
func (c clock) after(e *history.Effect) clock {
	switch e.What {
	case history.ClockSet:
		c.offset += e.By
	case history.ClockRate:
		c = clock{offset: c.at(e.At) - e.At, ppm: e.PPM, since: e.At}
	case history.Promoted:
		c = clock{} // it is now another machine's
	}
	return c
}

// change is what an event did to one key. A nil value means that there is no key.
type change struct {
	key           string
	before, after *Value
}

// freed reports whether a change removed data, instead of replacing or renewing it.
func (c change) freed() bool {
	return c.before != nil && (c.after == nil || len(c.after.Fields) < len(c.before.Fields) || len(c.after.Items) < len(c.before.Items) ||
		len(c.after.Scores) < len(c.before.Scores))
}

// made reports whether a change created a key.
func (c change) made() bool { return c.before == nil }

// renewed reports whether a change moved the expiry of a key and nothing else.
func (c change) renewed() bool {
	return c.before != nil && c.after != nil && c.before.sameData(c.after)
}

// keyPart is a part of a key: a field, a member, an item, or "" for a string.
type keyPart struct{ key, part string }

// parts returns what a change did to each part of a key: a field, a member, an item, or "" for a string. A change of the expiry affects all.
func (c change) parts() map[string]Hit {
	before, after := c.before.parts(), c.after.parts()
	out := map[string]Hit{}
	for part, data := range before {
		switch now, kept := after[part]; {
		case !kept:
			out[part] = Freed
		case now != data:
			out[part] = Changed
		case c.renewed():
			out[part] = Renewed
		}
	}
	for part := range after {
		if _, was := before[part]; !was {
			out[part] = Made
		}
	}
	return out
}

// madeParts is a set of parts of keys that were created.
type madeParts map[keyPart]bool

// add adds the parts that changes created.
func (m madeParts) add(changes []change) {
	for _, c := range changes {
		for part, hit := range c.parts() {
			if hit == Made {
				m[keyPart{c.key, part}] = true
			}
		}
	}
}

// meets reports whether two changes affect the same part of a key.
func (c change) meets(o change) bool {
	if c.key != o.key {
		return false
	}
	others := o.parts()
	for part := range c.parts() {
		if others[part] != "" {
			return true
		}
	}
	return false
}

// machine is one node during a replay: its data, its clock, and the server that executes commands on both.
type machine struct {
	srv     Server
	stopped func() bool
	epoch   int64 // of the run's base, since 1970
	clock   clock
	values  map[string]*Value
	timed   map[form]bool // items of replies that are remaining times
	loaded  bool          // the server has been given values
	stop    int64         // when the node's clock stops, so that no lease ends; 0: never
}

// load sets the data and the clock, which runs.
func (m *machine) load(values map[string]*Value, c clock) {
	m.values, m.clock, m.loaded, m.stop = values, c, false, 0
}

// ownTime returns the node's own time, since 1970.
func (m *machine) ownTime(t int64) int64 {
	if m.stop != 0 {
		t = min(t, m.stop)
	}
	return m.epoch + m.clock.at(t)
}

// tick advances time to t and returns the keys that expired, by expiry.
func (m *machine) tick(t int64) (ended []change) {
	now := m.ownTime(t)
	for key, v := range m.values {
		if v.Expires != 0 && v.Expires <= now {
			ended = append(ended, change{key, v, nil})
		}
	}
	if len(ended) == 0 {
		return nil
	}
	slices.SortFunc(ended, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.before.Expires, b.before.Expires), strings.Compare(a.key, b.key))
	})
	for _, c := range ended {
		delete(m.values, c.key)
	}
	m.loaded = m.loaded && m.stop == 0
	return ended
}

// do executes a request and returns its reply as one line, its changes, and the keys that it named.
func (m *machine) do(r request, t int64) (reply string, changes []change, touched []string) {
	if m.stopped() {
		return "", nil, nil
	}
	at := time.Unix(0, m.ownTime(t))
	if !m.loaded {
		m.srv.Load(at, m.values)
		m.loaded = true
	}
	var raw []byte
	for _, args := range r {
		raw = m.srv.Do(at, args)
	}
	got, _ := resp.ParseReply(raw)
	reply = got.Line(history.MaxReply)
	touched = m.srv.Touched()
	if len(touched) == 0 && slices.ContainsFunc(r, func(args []string) bool { return resp.IsWrite(args[0]) }) { // FLUSHALL names no key and may change all
		touched = slices.Collect(maps.Keys(m.values))
	}
	touched = slices.Compact(slices.Sorted(slices.Values(touched)))
	for _, key := range touched {
		before, after := m.values[key], m.srv.Value(key)
		if before.equal(after) {
			continue
		}
		changes = append(changes, change{key, before, after})
		m.set(key, after)
	}
	return reply, changes, touched
}

// instead has replacements for a value: no key, other data, that of others, another expiry.
var instead = []func(v Value) *Value{
	func(Value) *Value { return nil },
	func(v Value) *Value { return v.altered() },
	func(v Value) *Value { return v.renamed() },
	func(v Value) *Value {
		if v.Expires != 0 {
			v.Expires += int64(time.Hour)
		}
		return &v
	},
}

// idle reports whether the reply to a command that changed nothing proves that it wrote nothing. It does not if, with another value, the command gets the
// same reply and changes something: it may have written the value that was there. Where there is none, it is executed with that of earlier, if any. Several
// keys get other values together, and one by one.
func (m *machine) idle(e *event, r request, earlier map[string]*Value) bool {
	values, several := m.values, [][]string{e.touched}
	defer func() { m.values, m.loaded = values, false }()
	if len(e.touched) > 1 {
		several = slices.AppendSeq(several, slices.Chunk(e.touched, 1))
	}
	for _, keys := range several {
		for _, other := range instead {
			m.values, m.loaded = maps.Clone(values), false
			for _, key := range keys {
				if v := values[key]; v != nil {
					m.set(key, other(*v))
				} else if v := earlier[key]; v != nil {
					m.set(key, other(*v.lasting()))
				}
			}
			if reply, changes, _ := m.do(r, e.at); len(changes) > 0 && m.same(e.cmd, answerOf(e.cmd, reply)) {
				return false
			}
		}
	}
	return true
}

func (m *machine) set(key string, v *Value) {
	if v == nil {
		delete(m.values, key)
		return
	}
	m.values[key] = v
}

// persist removes the expiry of a key.
func (m *machine) persist(key string) {
	if v := m.values[key]; v != nil {
		m.values[key], m.loaded = v.lasting(), false
	}
}

// undo reverts changes.
func (m *machine) undo(changes []change) {
	for _, c := range changes {
		m.set(c.key, c.before)
		m.loaded = false
	}
}

// apply applies the effect of a fault to the data or the clock. A restart or promotion restores the given data or, if they are nil, keeps the keys that it
// is recorded to have kept.
func (m *machine) apply(e *history.Effect, data map[string]*Value) (changes []change) {
	before := maps.Clone(m.values)
	m.loaded, m.clock = false, m.clock.after(e)
	switch e.What {
	case history.Deleted, history.Evicted:
		for _, key := range e.Lost {
			delete(m.values, key)
		}
	case history.Restarted, history.Promoted:
		switch {
		case data != nil:
			m.values = maps.Clone(data)
		case len(e.Kept) == 0:
			clear(m.values)
		default:
			for _, key := range e.Lost {
				delete(m.values, key)
			}
		}
		if m.values == nil {
			m.values = map[string]*Value{}
		}
	}
	return difference(before, m.values)
}

// difference returns what changed between two states, by key.
func difference(before, after map[string]*Value) (changes []change) {
	for key, v := range before {
		if after[key] != v && !v.equal(after[key]) {
			changes = append(changes, change{key, v, after[key]})
		}
	}
	for key, v := range after {
		if before[key] == nil {
			changes = append(changes, change{key, nil, v})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.key, b.key) })
	return changes
}
