package explain

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Server is an embedded Redis that executes one command at a time by the caller's clock. It serves one goroutine.
type Server interface {
	// Load replaces all data; values that have expired by at are dropped.
	Load(at time.Time, values map[string]*Value)
	// Do executes a command and returns its reply in wire format, valid until the next call. Only Load can set an earlier time.
	Do(at time.Time, args []string) []byte
	// Touched returns the keys that the last Do named, including those of commands in its script; there may be duplicates.
	Touched() []string
	// Value returns a copy of a key's value; nil: no key.
	Value(key string) *Value
}

// Value is the value of a key. Values are immutable, so that states of a server can share them.
type Value struct {
	Kind    string // as TYPE returns it
	Text    string
	Fields  map[string]string
	Items   []string
	Scores  map[string]float64
	Expires int64 // expiry by the server's own clock, in nanoseconds since 1970; 0 = never

	// By how much earlier or later than Expires it may expire: when the command that set the expiry was executed is uncertain.
	early, late int64
}

// ends returns the earliest and the latest instant at which a value with a lease may end, by the server's own clock.
func (v *Value) ends() (earliest, latest int64) {
	return v.Expires - max(v.early, grain), v.Expires + max(v.late, grain)
}

// equal reports whether two values are the same, expiry included; nil is no value.
func (v *Value) equal(o *Value) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.Expires == o.Expires && v.sameData(o)
}

// parts returns the data of a value by field, member or item; a string is one part named "". nil has none.
func (v *Value) parts() map[string]string {
	if v == nil {
		return nil
	}
	if len(v.Fields)+len(v.Items)+len(v.Scores) == 0 {
		return map[string]string{"": v.Text}
	}
	out := maps.Clone(v.Fields)
	if out == nil {
		out = map[string]string{}
	}
	for _, item := range v.Items {
		out[item] += "+" // once for each time that it is there
	}
	for member, score := range v.Scores {
		out[member] = strconv.FormatFloat(score, 'g', -1, 64)
	}
	return out
}

// altered returns the value with other data in the same fields and members.
func (v *Value) altered() *Value {
	o := *v
	o.Fields, o.Scores = maps.Clone(v.Fields), maps.Clone(v.Scores)
	o.Text += "'"
	for field := range o.Fields {
		o.Fields[field] += "'"
	}
	for member := range o.Scores {
		o.Scores[member]++
	}
	return &o
}

// lasting returns the value without its expiry.
func (v *Value) lasting() *Value {
	o := *v
	o.Expires = 0
	return &o
}

// renamed returns the value with the same data in other fields, members and items.
func (v *Value) renamed() *Value {
	o := *v
	o.Fields, o.Scores, o.Items = map[string]string{}, map[string]float64{}, nil
	for field, data := range v.Fields {
		o.Fields[field+"'"] = data
	}
	for member, score := range v.Scores {
		o.Scores[member+"'"] = score
	}
	for _, item := range v.Items {
		o.Items = append(o.Items, item+"'")
	}
	return &o
}

// sameData reports whether two values differ at most in their expiry.
func (v *Value) sameData(o *Value) bool {
	return v.Kind == o.Kind && v.Text == o.Text && maps.Equal(v.Fields, o.Fields) && slices.Equal(v.Items, o.Items) && maps.Equal(v.Scores, o.Scores)
}
