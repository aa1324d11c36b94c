package history

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Executed is one thing that a node did: it executed a command, suffered the effect of a fault, or
// ended a lease.
type Executed struct {
	Node int `json:"node"`
	// nanoseconds on the run's base; exact in the simulator, else between Sent and Replied
	At      int64        `json:"at"`
	Client  string       `json:"client,omitempty"` // of the command; "" for an effect or the end of a lease
	Conn    uint64       `json:"conn,omitempty"`   // as in Command
	Op      uint64       `json:"op,omitempty"`     // as in Command
	Name    string       `json:"name,omitempty"`   // of the command
	Script  string       `json:"script,omitempty"` // as in Command
	Args    []string     `json:"args,omitempty"`
	Reply   string       `json:"reply,omitempty"`
	Effect  string       `json:"effect,omitempty"` // of a fault: Restarted, Promoted, …; or Expired
	Changes []DataChange `json:"changes,omitempty"`
	Open    bool         `json:"open,omitempty"`   // the replay does not reproduce the recorded reply
	Copied  bool         `json:"copied,omitempty"` // the node had it from its primary, to which the client sent it
}

// Expired is the Effect of the end of a lease.
const Expired = "expired"

// Simulated is the source of effects that the simulator recorded.
const Simulated = "recorded by the simulator as its nodes executed each command"

// AppendOnly is the source of effects that the servers recorded.
const AppendOnly = "the append-only files of the servers"

// Derived is the source of effects of servers that record none for us: they may explain, and decide
// nothing.
const Derived = "derived: the recorded commands, executed again in an order that gives the same replies, as far as there is one"

// IsDerived reports whether effects of a source were worked out from the commands, by this version
// or one before it.
func IsDerived(source string) bool {
	return slices.ContainsFunc([]string{"derived:", "worked out", "the commands, executed once"}, func(begins string) bool {
		return strings.HasPrefix(source, begins)
	})
}

// DataChange is what an event did to one Redis key.
type DataChange struct {
	Key    string `json:"key"`
	Before *Datum `json:"before"` // nil: the key did not exist
	After  *Datum `json:"after"`  // nil: the key does not exist
}

// Datum is the value of a Redis key. It is never changed once recorded: states of the data share
// it.
type Datum struct {
	// Value is a string; a list ([]string); a hash (map[string]string); a set (map[string]bool,
	// whose members are true); or the scores of a sorted set (map[string]float64).
	Value any `json:"value"`
	// when it expires by the clock as it is set now, in nanoseconds on the run's base; 0 = never
	Until int64 `json:"until,omitempty"`
}

// Parts returns what the value of a key consists of, by name: the value of each field of a hash,
// the score of each member of a sorted set, "+" for each member of a set and for each time that an
// item is in a list. A string is one part, without a name. A key that does not exist has none.
func (d *Datum) Parts() map[string]string {
	if d == nil {
		return nil
	}
	parts := map[string]string{}
	switch v := d.Value.(type) {
	case string:
		parts[""] = v
	case map[string]string:
		return v
	case []string:
		for _, item := range v {
			parts[item] += "+"
		}
	case map[string]bool:
		for member := range v {
			parts[member] = "+"
		}
	case map[string]float64:
		for member, score := range v {
			parts[member] = strconv.FormatFloat(score, 'f', -1, 64)
		}
	}
	return parts
}

// MarshalJSON writes an infinite score as the largest number, since JSON has no infinity.
func (d Datum) MarshalJSON() ([]byte, error) {
	type plain Datum // without this method
	if scores, ok := d.Value.(map[string]float64); ok {
		finite := make(map[string]float64, len(scores))
		for member, score := range scores {
			finite[member] = min(max(score, -math.MaxFloat64), math.MaxFloat64)
		}
		d.Value = finite
	}
	return json.Marshal(plain(d))
}

// UnmarshalJSON gives Value the type that its data have.
func (d *Datum) UnmarshalJSON(text []byte) error {
	var raw struct {
		Value json.RawMessage `json:"value"`
		Until int64           `json:"until"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for _, data := range []any{new(string), new([]string), new(map[string]string), new(map[string]bool), new(map[string]float64)} {
		if json.Unmarshal(raw.Value, data) == nil {
			*d = Datum{reflect.ValueOf(data).Elem().Interface(), raw.Until}
			return nil
		}
	}
	return fmt.Errorf("value %.40s: want a string, a list, or an object of strings, of scores or of true", raw.Value)
}
