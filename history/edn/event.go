package edn

import (
	"strings"

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

// event reads a form as an event; false for an operation of the nemesis.
func (p *parser) event(f *form) (e event, ok bool, err error) {
	if f.kind != kindMap {
		return e, false, p.fail(f.pos, "expected an operation such as {:type :invoke, :f :acquire, :process 0}, found %s", f.kind)
	}
	e.pos = f.pos
	process, known := f.field("process")
	if known && process.kind == kindKeyword {
		return e, false, nil // :nemesis
	}
	if !known || process.kind != kindInt {
		return e, false, p.fail(f.at("process"), "expected :process to be a number, found %s", describe(process, known))
	}
	e.process = "p" + process.text
	for _, read := range [...]func(*form, *event) error{p.readType, p.readFunction, p.readTime} {
		if err := read(f, &e); err != nil {
			return e, false, err
		}
	}
	e.readValue(f)
	if text, ok := f.field("error"); ok {
		e.err = text.words()
	}
	return e, true, nil
}

func (p *parser) readType(f *form, e *event) error {
	typ, known := f.field("type")
	e.typ = typ.text
	switch e.typ {
	case "invoke", "ok", "fail", "info":
		return nil
	}
	return p.fail(f.at("type"), "expected :type to be :invoke, :ok, :fail or :info, found %s", describe(typ, known))
}

func (p *parser) readFunction(f *form, e *event) error {
	fn, known := f.field("f")
	switch fn.text {
	case "acquire", "lock":
		e.op = history.Acquire
	case "release", "unlock":
		e.op = history.Release
	default:
		return p.fail(f.at("f"), "expected :f to be :acquire or :release, found %s", describe(fn, known))
	}
	return nil
}

func (p *parser) readTime(f *form, e *event) error {
	t, known := f.field("time")
	if !known || t.kind == kindNil {
		return nil
	}
	if t.kind != kindInt {
		return p.fail(t.pos, "expected :time in whole nanoseconds, found %s", describe(t, true))
	}
	e.time, e.timed = t.int, true
	return nil
}

// readValue reads the key and the fence, if the value has them.
func (e *event) readValue(f *form) {
	v, ok := f.field("value")
	if !ok {
		return
	}
	tuple := v.kind == kindList && (len(v.items) == 2 || strings.HasSuffix(v.tag, "Tuple"))
	if tuple && len(v.items) == 2 {
		e.key = v.items[0].words()
		v = v.items[1]
	}
	if v.kind == kindMap {
		v, _ = v.field("fence")
	}
	if v.kind == kindInt && v.int > 0 && e.op == history.Acquire && e.typ == "ok" {
		e.fence = uint64(v.int)
	}
}

// at returns the position of a field's value, or of the map if it has no such field.
func (f *form) at(name string) position {
	if v, ok := f.field(name); ok {
		return v.pos
	}
	return f.pos
}

func (f *form) words() string {
	if f.kind != kindList && f.kind != kindMap {
		return f.text
	}
	var parts []string
	for i := range f.items {
		parts = append(parts, f.items[i].words())
	}
	return strings.Join(parts, " ")
}

// describe returns what was found, for messages.
func describe(f form, known bool) string {
	switch {
	case !known:
		return "none"
	case f.kind == kindKeyword:
		return ":" + cut(f.text)
	case f.text != "":
		return f.kind.String() + " " + cut(f.text)
	}
	return f.kind.String()
}
