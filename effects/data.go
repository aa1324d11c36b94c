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
	"github.com/lockbench/lockbench/internal/resp"
)

// data is what one node holds. Entries are never changed; with a log, keys stay until it removes
// them, whatever the time.
type data struct {
	server *fakeredis.Server
	epoch  int64 // wall-clock time of the run's base
	keys   map[string]*fakeredis.Entry
	held   time.Time // the server has the same since then; zero: it has others
}

// put is a key's value before and after an event; nil: none. seen is what it had been, if the event
// found what had just ended.
type put struct {
	key            string
	was, now, seen *fakeredis.Entry
}

// always is a time at which no lease has ended.
var always = time.Unix(1, 0)

// shown returns what the clock of the node shows, from an instant by it that is counted from the
// base.
func (d *data) shown(own int64) time.Time { return time.Unix(0, d.epoch+own) }

// try executes a request on some data, nil for the node's, and returns its reply and the keys that
// it changed; the node's data stay.
func (d *data) try(r Request, now time.Time, on fakeredis.Data) (reply string, changed []put) {
	own := on == nil
	if own {
		on = d.near(r)
	}
	if passed := now.Sub(d.held); !own || d.held.IsZero() || passed < 0 || passed > time.Minute {
		d.server.SetData(now, on)
	}
	var raw []byte
	for _, words := range r {
		raw = d.server.Do(now, words)
		for _, c := range d.server.Changed() {
			i := slices.IndexFunc(changed, func(p put) bool { return p.key == c.Key })
			if i < 0 {
				i, changed = len(changed), append(changed, put{key: c.Key, was: d.keys[c.Key]})
			}
			changed[i].now = d.server.Entry(c.Key)
		}
	}
	if d.held = (time.Time{}); own && len(changed) == 0 && len(d.keys) <= few {
		d.held = now
	}
	got, _ := resp.ParseReply(raw)
	return got.Line(history.MaxReply), slices.DeleteFunc(changed, func(p put) bool { return same(p.was, p.now) })
}

// few is how many keys are given to the server for any request.
const few = 64

// near returns the data for a request: all, or of many keys those that may concern it.
func (d *data) near(r Request) fakeredis.Data {
	if len(d.keys) <= few {
		return d.keys
	}
	var named []string
	for _, words := range r {
		for _, key := range resp.Keys(words) {
			_, within, _ := strings.Cut(key, "{") // keys that are made from it have that in their names
			within, _, _ = strings.Cut(within, "}")
			named = append(named, cmp.Or(within, key))
		}
	}
	out := fakeredis.Data{}
	for key, v := range d.keys {
		if slices.ContainsFunc(named, func(k string) bool { return strings.Contains(key, k) }) {
			out[key] = v
		}
	}
	return out
}

// set applies or takes back what an event did.
func (d *data) set(key string, v *fakeredis.Entry) {
	d.held = time.Time{}
	if v == nil {
		delete(d.keys, key)
		return
	}
	d.keys[key] = v
}

// timed returns a value with the end of its lease by true time.
func (d *data) timed(v *fakeredis.Entry, c history.Clock) *fakeredis.Entry {
	until := int64(0)
	if v != nil && v.Expires != 0 {
		until = c.When(v.Expires - d.epoch)
	}
	if v == nil || v.Until == until {
		return v
	}
	return &fakeredis.Entry{Datum: history.Datum{Value: v.Value, Until: until}, Expires: v.Expires}
}

// datum returns a value as records have it.
func datum(v *fakeredis.Entry) *history.Datum {
	if v == nil {
		return nil
	}
	return &v.Datum
}

// same reports whether two values are equal; nil is no value.
func same(a, b *fakeredis.Entry) bool { return about(a, b, 0) }

// about is same for leases that end at times that differ by at most so much.
func about(a, b *fakeredis.Entry, most int64) bool {
	if a == nil || b == nil || a == b {
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
