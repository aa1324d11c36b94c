package effects

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/history"
)

// lease is one that still runs.
type lease struct {
	left float64 // in milliseconds
	open int64   // how long the command that gave it was under way, in nanoseconds
}

// leases returns those of the keys that the last command named, which was executed at an instant.
func (d *deriver) leases(own int64) (out []lease) {
	for _, key := range d.server.Touched() {
		v := d.keys[key]
		if v == nil || v.Expires == 0 {
			continue
		}
		l := lease{left: max(1, float64(v.Expires-d.epoch-own)/1e6)} // what has ended is there for an instant
		for _, e := range slices.Backward(d.events[:d.n]) {
			if slices.ContainsFunc(e.Changes, func(c history.DataChange) bool { return c.Key == key }) {
				l.open = max(0, e.open)
				break
			}
		}
		out = append(out, l)
	}
	return out
}

// alike reports whether a reply is that of a command: the same, or one that differs only in numbers
// that are times, for all that is known.
func alike(c *history.Command, reply string, times func(was, is string) bool) bool {
	if strings.ReplaceAll(c.Reply, `"`, "") == strings.ReplaceAll(reply, `"`, "") || c.Name == "TIME" || c.Name == "HELLO" {
		return true
	}
	a, b := fieldsOf(c.Reply), fieldsOf(reply)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !times(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Alike is the same for a command that was executed at quite another time.
func Alike(c *history.Command, reply string) bool {
	return alike(c, reply, func(was, is string) bool { // two numbers of several digits
		_, ok := timeOf(was)
		_, also := timeOf(is)
		return ok && also && min(len(was), len(is)) > 1
	})
}

// times returns whether two numbers are times that differ by no more than is open about when a node
// executed a command and those that gave the leases of its keys. A number of one digit is a time if
// it is what is left of a lease; that of one that has ended is not 0, as it is executed here.
func times(c *history.Command, leases func() []lease) (is func(was, is string) bool) {
	leases = sync.OnceValue(leases)
	return func(a, b string) bool {
		was, ok := timeOf(a)
		is, also := timeOf(b)
		if !ok || !also {
			return false
		}
		open, ends := 3*Grain+max(0, c.Replied-c.Sent), false
		for _, l := range leases() {
			open += l.open
			ends = ends || is > 0 && math.Abs(l.left-is) <= 1
		}
		return (ends || min(len(a), len(b)) > 1) && math.Abs(was-is) <= float64(open)/1e6
	}
}

func fieldsOf(reply string) []string {
	return strings.FieldsFunc(reply, func(c rune) bool { return strings.ContainsRune(`[], "`, c) })
}

// timeOf returns what may be a remaining time or an instant in milliseconds: it comes in these, or
// as seconds, micro- or nanoseconds since 1970.
func timeOf(word string) (ms float64, ok bool) {
	if word == "" || len(word) > 20 || strings.Trim(word, "0123456789.") != "" {
		return 0, false
	}
	ms, err := strconv.ParseFloat(word, 64)
	switch {
	case ms > 1e17:
		ms /= 1e6
	case ms > 1e14:
		ms /= 1e3
	case ms > 1e8 && ms < 1e11:
		ms *= 1e3
	}
	return ms, err == nil
}
