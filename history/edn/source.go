package edn

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
)

// Source returns the operations of a Jepsen history in the order of their completion. It is used by
// one goroutine at a time.
type Source struct {
	forms   *forms
	closer  io.Closer
	pending map[string]event    // open invocations by process
	timed   bool                // the history has times
	last    int64               // the latest time
	events  int64               // number of events read
	ops     uint64              // number of operations returned
	rest    []history.Operation // after the end: operations that never completed
	err     error               // sticky result of Next
}

// Open opens a Jepsen history file. Its header describes a mutex without a lease. The caller closes
// the Source.
func Open(path string) (history.Header, *Source, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return history.Header{}, nil, err
	}
	s := &Source{forms: newForms(f, path), closer: f, pending: map[string]event{}}
	return history.Header{Lock: "jepsen", Kind: history.Mutex, Permits: 1}, s, nil
}

// Close closes the file.
func (s *Source) Close() error { return s.closer.Close() }

// Next reads the next completed operation into op; io.EOF after the last. Operations that never
// completed come last, with the outcome unknown. Other errors are a *history.SyntaxError or come
// from the reader. Errors are sticky.
func (s *Source) Next(op *history.Operation) error {
	for s.err == nil {
		form, at, err := s.forms.next()
		if errors.Is(err, io.EOF) {
			s.err = io.EOF
			open := slices.SortedFunc(maps.Values(s.pending), func(a, b event) int {
				return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.process, b.process))
			})
			for i := range open {
				s.rest = append(s.rest, s.operation(&open[i], &event{typ: "info", time: s.last, key: open[i].key}))
			}
			break
		}
		if err != nil {
			s.err = err
			break
		}
		var done bool
		if done, s.err = s.take(form, at, op); done && s.err == nil {
			return nil
		}
	}
	if len(s.rest) > 0 {
		*op, s.rest = s.rest[0], s.rest[1:]
		return nil
	}
	return s.err
}

// take reads a form as an event, and reports whether it completed an operation.
func (s *Source) take(form any, at position, op *history.Operation) (done bool, err error) {
	e, ok, err := readEvent(form, at)
	if err != nil {
		return false, s.forms.fail(at, "%v", err)
	}
	if !ok {
		return false, nil
	}
	if s.events == 0 {
		s.timed = e.timed
	}
	switch {
	case s.timed != e.timed:
		return false, s.forms.fail(at, "expected :time in all operations or in none")
	case e.time < 0:
		return false, s.forms.fail(at, "expected :time from the start of the test, found %d", e.time)
	case !e.timed: // then each event takes a microsecond
		e.time = s.events * int64(time.Microsecond)
	}
	s.events++
	s.last = max(s.last, e.time)
	begun, open := s.pending[e.process]
	if e.typ == "invoke" {
		if open {
			return false, s.forms.fail(at, "process %s invokes again before its invocation at line %d has completed", e.process[1:], begun.pos.line)
		}
		s.pending[e.process] = e
		return false, nil
	}
	if !open || begun.op != e.op {
		return false, s.forms.fail(at, "process %s completes a %s that it did not invoke", e.process[1:], e.op)
	}
	if e.time < begun.time {
		return false, s.forms.fail(at, ":time %d of process %s is before its invocation at %d", e.time, e.process[1:], begun.time)
	}
	delete(s.pending, e.process)
	*op = s.operation(&begun, &e)
	return true, nil
}

// operation joins an invocation and its completion.
func (s *Source) operation(begun, end *event) history.Operation {
	s.ops++
	op := history.Operation{
		ID: s.ops, Client: begun.process, Op: begun.op, Key: cmp.Or(end.key, begun.key, "lock"),
		Call: begun.time, Return: end.time, Fence: end.fence, Err: end.err,
	}
	switch end.typ {
	case "ok":
		op.Outcome = history.OK
	case "fail":
		op.Outcome = history.Fail
		text := strings.ToLower(strings.ReplaceAll(end.err, "-", " "))
		saysNotHeld := strings.Contains(text, "not held") || strings.Contains(text, "not lock owner") || strings.Contains(text, "not owner")
		if op.Op == history.Release && saysNotHeld {
			op.Outcome = history.NotHeld
		}
	default:
		op.Outcome = history.Unknown
	}
	return op
}
