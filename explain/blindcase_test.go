package explain_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// blindCase is a violation of a recorded run for which a reader named the cause.
type blindCase struct {
	cell      string // the origin of the record
	of        string // which violation it is
	truth     verdicts.Cause
	because   string // the reader's reason
	shows     string // what the experiment must name, if the cause alone does not tell
	rec       explain.Record
	verdict   *checker.Verdict
	violation checker.Violation
}

// The other files of a case are those of a run directory, so that lockbench check can read it.
const truthFile = "truth.txt"

// save writes a case to its own directory.
func (c *blindCase) save(dir string) error {
	var ops, commands, windows bytes.Buffer
	w, err := history.NewZstdWriter(&ops, c.rec.Header)
	if err != nil {
		return err
	}
	for i := range c.rec.Ops {
		err = errors.Join(err, w.Write(&c.rec.Ops[i]))
	}
	err = errors.Join(err, w.Close(), history.WriteCommands(&commands, c.rec.Commands, c.rec.Scripts), history.WriteWindows(&windows, c.rec.Faults),
		os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf("cell: %s\nviolation: %s\ncause: %s\nbecause: %s\n", c.cell, c.of, c.truth, c.because)
	for name, data := range map[string][]byte{results.HistoryFile: ops.Bytes(), results.CommandsFile: commands.Bytes(), results.FaultsFile: windows.Bytes(), truthFile: []byte(text)} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return err
}

// loadCase reads a case and finds its violation.
func loadCase(t *testing.T, dir string) *blindCase {
	t.Helper()
	c := &blindCase{}
	text, err := os.ReadFile(filepath.Join(dir, truthFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "cell":
			c.cell = value
		case "violation":
			c.of = value
		case "cause":
			c.truth = verdicts.Cause(value)
		case "because":
			c.because = value
		case "shows":
			c.shows = value
		}
	}
	if err := c.load(dir); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	v, err := checkBlind(t.Context(), c.rec)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if x := cmp.Or(findViolation(v, c.of), nearestTo(v, c.of)); x != nil {
		c.verdict, c.violation = v, *x
		return c
	}
	t.Fatalf("%s: the record has no violation like %s", dir, c.of)
	return nil
}

func (c *blindCase) load(dir string) error {
	in, err := history.Open(filepath.Join(dir, results.HistoryFile))
	if err != nil {
		return err
	}
	defer in.Close()
	c.rec.Header = in.Header()
	for op := (history.Operation{}); err == nil; {
		if err = in.Next(&op); err == nil {
			c.rec.Ops = append(c.rec.Ops, op)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	var commands, windows error
	c.rec.Commands, c.rec.Scripts, commands = history.LoadCommands(filepath.Join(dir, results.CommandsFile))
	if !history.Linked(c.rec.Commands) { // as the tool does when it reads another's record
		history.LinkCommands(c.rec.Ops, c.rec.Commands)
	}
	c.rec.Faults, windows = history.LoadWindows(filepath.Join(dir, results.FaultsFile))
	faults.Describe(c.rec.Faults)
	return errors.Join(commands, windows)
}

// checkBlind finds the violations of a record.
func checkBlind(ctx context.Context, rec explain.Record) (*checker.Verdict, error) {
	in := checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands, Faults: rec.Faults}
	return checker.Check(ctx, in, checker.Options{MaxViolations: math.MaxInt32})
}

// explained returns the tool's answer to a case.
func (c *blindCase) explained(t *testing.T) explain.Answer {
	t.Helper()
	srv, err := sim.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	answers := findings(t, c.verdict, c.rec, srv).Answers
	return answers[slices.IndexFunc(c.verdict.Violations, func(x checker.Violation) bool { return violationOf(&x) == violationOf(&c.violation) })]
}

// violationOf identifies a violation within a record.
func violationOf(v *checker.Violation) string {
	return fmt.Sprintf("%s of %q at %s ms by %s", v.Property, v.Key, millisOf(v.At), strings.Join(v.Clients, " "))
}

// findViolation returns the violation that violationOf identifies; nil: none.
func findViolation(v *checker.Verdict, of string) *checker.Violation {
	i := slices.IndexFunc(v.Violations, func(x checker.Violation) bool { return violationOf(&x) == of })
	if i < 0 {
		return nil
	}
	return &v.Violations[i]
}

// nearestTo finds the violation nearest in time to that of a case: of the same property, at an instant that depends on the witness that the checker
// chooses, or else between the same clients; nil: none. (A history that a confirmed fault of a server explains is linearizable, but was not always
// judged so; the overlap of the holds is then a violation of mutual exclusion.)
func nearestTo(v *checker.Verdict, of string) (nearest *checker.Violation) {
	about, rest, _ := strings.Cut(of, " at ")
	instant, by, _ := strings.Cut(rest, " ms by ")
	at, err := strconv.ParseFloat(instant, 64)
	if err != nil {
		return nil
	}
	distance := func(x *checker.Violation) float64 { return math.Abs(float64(x.At)/1e6 - at) }
	same := func(x *checker.Violation) bool { return strings.HasPrefix(violationOf(x), about+" at ") }
	if !slices.ContainsFunc(v.Violations, func(x checker.Violation) bool { return same(&x) }) {
		clients := slices.Sorted(slices.Values(strings.Fields(by)))
		same = func(x *checker.Violation) bool { return slices.Equal(slices.Sorted(slices.Values(x.Clients)), clients) }
	}
	for i := range v.Violations {
		if x := &v.Violations[i]; same(x) && (nearest == nil || distance(x) < distance(nearest)) {
			nearest = x
		}
	}
	return nearest
}

// cutAfter returns the record up to the end of a violation.
func cutAfter(rec explain.Record, v *checker.Violation) explain.Record {
	end := v.At + v.Lasted
	for _, op := range v.Witness.All() {
		if op.Return < math.MaxInt64 {
			end = max(end, op.Return)
		}
	}
	less := rec
	less.Ops = slices.DeleteFunc(slices.Clone(rec.Ops), func(op history.Operation) bool { return op.Call > end })
	for i := range less.Ops { // a grant whose command is cut off would teach that the refusals before it grant
		if op := &less.Ops[i]; op.Return > end && op.Op != history.Use && op.Op != history.Write {
			op.Outcome, op.Return, op.Asked = history.Unknown, end, min(op.Asked, end)
		}
	}
	less.Commands = slices.DeleteFunc(slices.Clone(rec.Commands), func(c history.Command) bool { return c.Sent > end })
	less.Faults = slices.DeleteFunc(slices.Clone(rec.Faults), func(w history.Window) bool { return w.Start > end })
	return less
}

// millisOf formats an instant in milliseconds, as sheets do.
func millisOf(at int64) string { return fmt.Sprintf("%.3f", float64(at)/1e6) }
