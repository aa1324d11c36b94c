package edn

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	lib "olympos.io/encoding/edn"

	"github.com/lockbench/lockbench/history"
)

// event is one line of a Jepsen history: the invocation or the completion of an operation.
type event struct {
	pos     position
	typ     string // invoke, ok, fail, info
	op      history.Op
	process string
	key     string // "" if the history has one lock
	time    int64
	timed   bool // time is set
	fence   uint64
	err     string
}

// readEvent reads what begins at a position as an event; false for an operation of the nemesis. The
// error says what was expected.
func readEvent(v any, at position) (e event, ok bool, err error) {
	if tagged, is := v.(lib.Tag); is { // #jepsen.history.Op{…}
		v = tagged.Value
	}
	form, is := v.(map[any]any)
	if !is {
		return e, false, fmt.Errorf("expected an operation such as {:type :invoke, :f :acquire, :process 0}, found %s", describe(v))
	}
	field := func(name string) any { return form[lib.Keyword(name)] }
	e.pos = at
	if _, named := field("process").(lib.Keyword); named {
		return e, false, nil // :nemesis
	}
	process, is := integer(field("process"))
	if !is {
		return e, false, fmt.Errorf("expected :process to be a number, found %s", describe(field("process")))
	}
	e.process = fmt.Sprintf("p%d", process)
	switch e.typ = words(field("type")); e.typ {
	case "invoke", "ok", "fail", "info":
	default:
		return e, false, fmt.Errorf("expected :type to be :invoke, :ok, :fail or :info, found %s", describe(field("type")))
	}
	switch words(field("f")) {
	case "acquire", "lock":
		e.op = history.Acquire
	case "release", "unlock":
		e.op = history.Release
	default:
		return e, false, fmt.Errorf("expected :f to be :acquire or :release, found %s", describe(field("f")))
	}
	if t := field("time"); t != nil {
		if e.time, e.timed = integer(t); !e.timed {
			return e, false, fmt.Errorf("expected :time in whole nanoseconds, found %s", describe(t))
		}
	}
	e.err = words(field("error"))
	v = field("value")                 // may have the key and the fence
	if tagged, is := v.(lib.Tag); is { // #jepsen.independent.Tuple[key value]
		v = tagged.Value
	}
	if tuple, is := v.([]any); is && len(tuple) == 2 {
		e.key, v = words(tuple[0]), tuple[1]
	}
	if form, is := v.(map[any]any); is {
		v = form[lib.Keyword("fence")]
	}
	if n, is := integer(v); is && n > 0 && e.op == history.Acquire && e.typ == "ok" {
		e.fence = uint64(n)
	}
	return e, true, nil
}

// integer returns a whole number of at most 64 bits; the library reads 8N as a big.Int.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case big.Int:
		return v.Int64(), v.IsInt64()
	}
	return 0, false
}

// words returns a value as plain words: [:timeout "lock held"] is "timeout lock held".
func words(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
	case lib.Keyword:
		return string(v)
	case big.Int:
		return v.String()
	case lib.Tag:
		return words(v.Value)
	case []any:
		for _, item := range v {
			parts = append(parts, words(item))
		}
	case map[any]any:
		for key, item := range v {
			parts = append(parts, words(key)+" "+words(item))
		}
		slices.Sort(parts)
	case map[any]bool:
		for item := range v {
			parts = append(parts, words(item))
		}
		slices.Sort(parts)
	case *any: // a list or a map as a key
		return words(*v)
	case *big.Float:
		return "a number" // not its digits: 1E200000000M has many
	default:
		return fmt.Sprint(v)
	}
	return strings.Join(parts, " ")
}

// describe returns what was found, for messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case lib.Keyword:
		return cut(v.String())
	case string:
		return "a string " + cut(v)
	case map[any]any:
		return "a map"
	}
	return cut(words(v))
}

// cut truncates s for a message.
func cut(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
