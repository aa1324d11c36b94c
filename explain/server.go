package explain

import (
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
)

// Server is an embedded Redis that executes one command at a time by the caller's clock. It serves
// one goroutine.
type Server interface {
	// Load replaces all data; values that have expired by at are dropped.
	Load(at time.Time, values map[string]*Value)
	// Do executes a command and returns its reply in wire format, valid until the next call. Only
	// Load can set an earlier time.
	Do(at time.Time, args []string) []byte
	// Touched returns the keys that the last Do named, including those of commands in its script;
	// there may be duplicates.
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
	Expires int64 // by the server's own clock, in nanoseconds since 1970; 0 = never
}

// datum describes a value, with its end by the server's own clock; nil for none.
func datum(v *Value) *history.Datum {
	if v == nil {
		return nil
	}
	d := &history.Datum{Value: v.Text, Until: v.Expires}
	switch {
	case v.Fields != nil:
		d.Value = v.Fields
	case v.Kind == "set":
		members := map[string]bool{}
		for _, m := range v.Items {
			members[m] = true
		}
		d.Value = members
	case v.Items != nil:
		d.Value = v.Items
	case v.Scores != nil:
		d.Value = v.Scores
	}
	return d
}

// valueOf is the reverse, without the end.
func valueOf(d *history.Datum) *Value {
	v := &Value{}
	switch x := d.Value.(type) {
	case string:
		v.Kind, v.Text = "string", x
	case map[string]string:
		v.Kind, v.Fields = "hash", x
	case map[string]bool:
		v.Kind, v.Items = "set", slices.Sorted(maps.Keys(x))
	case []string:
		v.Kind, v.Items = "list", x
	case map[string]float64:
		v.Kind, v.Scores = "zset", x
	}
	return v
}
