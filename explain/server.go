package explain

import (
	"maps"
	"slices"
	"time"
)

// Server is an embedded Redis that executes one command at a time by the caller's clock. It is for one goroutine.
type Server interface {
	// Load replaces everything that the server holds; what has ended by at is left out.
	Load(at time.Time, values map[string]*Value)
	// Do executes a command and gives its reply as it would go over the wire, good until the next call. Time does not go back but by Load.
	Do(at time.Time, args []string) []byte
	// Touched returns the keys that the last Do named, those of commands within its script included, some perhaps twice.
	Touched() []string
	// Value copies what a key holds; nil: there is none.
	Value(key string) *Value
}

// Value is what one key holds. Values are not changed once made, so that states of a server share them.
type Value struct {
	Kind    string // as TYPE says it
	Text    string
	Fields  map[string]string
	Items   []string
	Scores  map[string]float64
	Expires int64 // when it ends by the server's own clock, in nanoseconds since 1970; 0 = never

	// By how much earlier or later than Expires it may have ended: the command that set its end was executed at an instant that is not known.
	early, late int64
}

// ends returns the earliest and the latest instant at which a value with a lease may end, by the server's own clock.
func (v *Value) ends() (earliest, latest int64) {
	return v.Expires - max(v.early, grain), v.Expires + max(v.late, grain)
}

// equal reports whether two values are the same, their end included; nil is no value.
func (v *Value) equal(o *Value) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.Expires == o.Expires && v.sameData(o)
}

// sameData reports whether two values differ in nothing but their end.
func (v *Value) sameData(o *Value) bool {
	return v.Kind == o.Kind && v.Text == o.Text && maps.Equal(v.Fields, o.Fields) && slices.Equal(v.Items, o.Items) && maps.Equal(v.Scores, o.Scores)
}
