package checker

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// parse reads a history from lines such as
//
//	a acquire 0 1 ok asked=0.5 until=10 fence=3 token=x key=k2 shared
//	a write 4 5 ok read=7 wrote=8
//
// Times are in milliseconds. Unless said otherwise the key is "k". Lines that start with # are
// remarks.
func parse(t testing.TB, text string) []history.Operation {
	t.Helper()
	var ops []history.Operation
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		op := history.Operation{ID: uint64(len(ops)) + 1, Client: words[0], Key: "k", Call: ms(t, words[2]), Return: ms(t, words[3])}
		op.Op = valued(t, history.Acquire, history.Lost, words[1])
		for _, word := range words[4:] {
			parseWord(t, &op, word)
		}
		ops = append(ops, op)
	}
	return ops
}

func parseWord(t testing.TB, op *history.Operation, word string) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "until":
		op.ValidUntil = math.MaxInt64
		if value != "told" {
			op.ValidUntil = ms(t, value)
		}
	case "asked":
		op.Asked = ms(t, value)
	case "fence":
		op.Fence = uint64(number(t, value))
	case "token":
		op.Token = value
	case "key":
		op.Key = value
	case "read":
		op.Read, op.HasValue = number(t, value), true
	case "wrote":
		op.Wrote, op.HasValue = number(t, value), true
	case "version":
		op.Version = uint64(number(t, value))
	case "readversion":
		op.ReadVersion, op.Versioned = uint64(number(t, value)), true
	case "shared":
		op.Mode = history.Shared
	default:
		op.Outcome = valued(t, history.OK, history.Unknown, word)
	}
}

func number(t testing.TB, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ms(t testing.TB, text string) int64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(f * 1e6)
}

// valued returns the value with a name.
func valued[T interface {
	~uint8
	String() string
}](t testing.TB, first, last T, name string) T {
	for v := first; v <= last; v++ {
		if v.String() == name {
			return v
		}
	}
	t.Fatalf("no %T %q", first, name)
	return 0
}

// verdictOf judges operations and fails the test on an error.
func verdictOf(t testing.TB, in Input, ops []history.Operation, opt Options) *Verdict {
	t.Helper()
	in.Ops = history.NewSlice(ops)
	v, err := Check(t.Context(), in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// property returns the judgement of one property.
func (v *Verdict) property(name verdicts.Property) Property {
	for _, p := range v.Properties {
		if p.Name == name {
			return p
		}
	}
	return Property{}
}

// broken returns the names of the properties that fail, in order.
func broken(v *Verdict) string {
	var names []string
	for _, p := range v.Properties {
		if p.Verdict == Fail {
			names = append(names, string(p.Name))
		}
	}
	return strings.Join(names, " ")
}
