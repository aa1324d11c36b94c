package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/edn"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/story"
	"github.com/lockbench/lockbench/workloads"
)

func newCheck(a *app) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge a stored history, ours or another tool's",
		Long: "check reads a history (.jsonl or .jsonl.zst, schema lockbench/history/v1, from any source; .edn, as Jepsen writes it) or a run\n" +
			"directory, and gives its verdict. The causes come from the commands and the fault windows that lie beside a history:\n" +
			"commands.jsonl (or .zst) and faults.jsonl beside history.jsonl (or .zst). Without commands a cause is often unknown.\n" +
			"Of several files each is judged by itself, in the order given; the exit code is that of the worst. With -o json each of several gives one line.",
		Example: "  lockbench check results/runs/latest\n  lockbench check history.jsonl.zst -o json\n  lockbench check --plain history.jsonl",
		Args:    takes("needs HISTORY", 1, math.MaxInt),
	}
	// one that cannot be read keeps its place in the output, and the others are judged all the same
	c.RunE = func(c *cobra.Command, paths []string) (err error) {
		ctx, end := a.interruptible(c.Context())
		defer end()
		if len(paths) == 1 {
			return a.check(ctx, paths[0], plain, a.writeJSON)
		}
		for i, path := range paths {
			if i > 0 && !a.json() {
				_, blank := fmt.Fprintln(a.out)
				err = errors.Join(err, blank)
			}
			one := a.check(ctx, path, plain, a.writeLine)
			if errors.Is(one, errInterrupted) {
				return errors.Join(err, one)
			}
			if code := exitCode(one); a.json() && code != exitOK && code != exitViolated && code != exitInconclusive {
				one = errors.Join(one, a.writeLine(map[string]string{"file": path, "error": inPlain(one)}))
			}
			err = errors.Join(err, one)
		}
		return err
	}
	c.Flags().BoolVar(&plain, "plain", false, "search the whole history at once with Porcupine, for comparison")
	return c
}

// check judges one history, and shows it.
func (a *app) check(ctx context.Context, path string, plain bool, write func(any) error) error {
	j, err := a.judged(ctx, path, plain)
	if err != nil {
		return err
	}
	if j.cut { // which makes a pass inconclusive
		note := "the end of the history is cut off; what stands before the cut was judged, and what clients may have done next counted as unknown"
		if len(j.verdict.Operations) == 0 {
			note = "the history is cut off before its first operation: the run was ended before anything that its clients did was recorded"
		}
		j.verdict.Doubt(note)
	}
	if n := j.run.Schedules; n > 1 {
		j.verdict.Notes = append(j.verdict.Notes, fmt.Sprintf("the record is of one of the %d schedules that the run simulated; the run's own verdict is of all of them", n))
	}
	r := results.NewResult(j.run, *j.verdict)
	r.SetLatency(nil, "not measured by check")
	judge.Conclude(&r, j.verdict, judge.Ending{Doubts: []string{j.errors.Reason()}})
	if a.json() {
		err = write(r)
	} else {
		err = report.History(a.out, r, a.style())
	}
	return errors.Join(err, verdictError(r.Verdict))
}

// judged reads the history at a path, or in a run directory, and judges it. Only at its end is a
// file known to be cut off; it is then read again as a truncated record, which a recording always
// is.
func (a *app) judged(ctx context.Context, path string, plain bool) (j judgement, err error) {
	if a.env("GOGC") == "" {
		// let the heap grow by a tenth between two collections instead of to its double: nearly all of it
		// is the compact history, which has no pointers, so that a collection costs milliseconds
		defer debug.SetGCPercent(debug.SetGCPercent(10))
	}
	if err := hasHistory(path); err != nil {
		return j, err
	}
	path = historyIn(path)
	known := filepath.Base(path) == results.RecordingFile
	j, err = a.checkOnce(ctx, path, plain, known)
	if err == nil && j.cut && !known {
		j, err = a.checkOnce(ctx, path, plain, true)
	}
	return j, err
}

// judgement is what check finds out about a history.
type judgement struct {
	run     results.Run
	verdict *checker.Verdict
	errors  checker.Errors
	cut     bool // the end of the history is missing
}

// checkOnce reads a history and judges it. known reports that it is known to be cut off; one that
// turns out to be is not explained.
func (a *app) checkOnce(ctx context.Context, path string, plain, known bool) (j judgement, err error) {
	h, err := openHistory(path)
	if err != nil {
		return j, asInput(err)
	}
	defer func() { err = errors.Join(err, h.close()) }()
	rec, err := beside(ctx, h)
	if err != nil {
		return j, asInput(err)
	}
	in := checker.Input{Header: h.header, File: h.file, Commands: rec.Commands, Faults: rec.Faults, Effects: rec.Effects}
	read := &counting{Source: h.ops, windows: in.Faults, errors: &j.errors}
	if in.Ops = read; known {
		in.Ops = history.NewCut(read)
	}
	argv := []string{"lockbench", "check", lasting(h.path)}
	if plain {
		argv = append(argv, "--plain")
	}
	if h.run != nil {
		j.run = *h.run
	} else { // the header and the name tell of lock and scenario
		name, _, _ := strings.Cut(filepath.Base(h.path), ".")
		j.run = results.Run{Lock: h.header.Lock, Scenario: name}
	}
	j.run.Argv = argv
	v, err := checker.Check(ctx, in, checker.Options{Plain: plain, Seed: j.run.Seed, Store: j.run.Store})
	if ctx.Err() != nil {
		return j, errInterrupted
	}
	if err != nil {
		return j, asInput(err)
	}
	v.Notes = append(v.Notes, faultNotes(in.Faults)...)
	if j.verdict, j.cut = v, h.truncated(); len(v.Violations) == 0 || j.cut && !known {
		return j, nil
	}
	return j, why(ctx, v, path, rec)
}

// faultNotes says which faults were not confirmed, and which names of faults are unknown: they may
// be misspelt, and explain nothing.
func faultNotes(windows []history.Window) (notes []string) {
	unknown := map[string]bool{}
	for i, w := range windows {
		if why := w.Doubt(); why != "" {
			notes = append(notes, why+"; the operations are judged without it")
		}
		if _, known := faults.FindKind(w.Fault); !known && !unknown[w.Fault] {
			unknown[w.Fault] = true
			names := faults.Names(func(faults.Kind) bool { return true })
			notes = append(notes, fmt.Sprintf("%s line %d: fault %q is not one that lockbench knows%s", results.FaultsFile, i+2, w.Fault, foreign.Hint(w.Fault, names)))
		}
	}
	return notes
}

// counting counts the acquires that failed while the checker reads a history.
type counting struct {
	checker.Source
	windows []history.Window
	errors  *checker.Errors
}

func (c *counting) Next(op *history.Operation) error {
	err := c.Source.Next(op)
	if err == nil {
		c.errors.Count(op, c.windows)
	}
	return err
}

// why finds the causes of violations, for which it reads the operations again.
func why(ctx context.Context, v *checker.Verdict, path string, rec explain.Record) (err error) {
	if len(rec.Commands) > 0 {
		again, err := openHistory(path)
		if err != nil {
			return asInput(err)
		}
		for err == nil {
			var op history.Operation
			if err = again.ops.Next(&op); err == nil {
				rec.Ops = append(rec.Ops, op)
			}
		}
		closed := again.close()
		if !errors.Is(err, io.EOF) {
			return asInput(errors.Join(err, closed))
		}
		if closed != nil {
			return closed
		}
		if !history.Linked(rec.Commands) { // the tool that recorded them does not say which operation sent a command
			history.LinkCommands(rec.Ops, rec.Commands)
		}
	}
	var x story.Explainer
	defer x.Close()
	if _, err = x.Explain(ctx, v, rec); ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// asInput marks an error as one of the input: a file that is missing, unreadable or invalid. It
// leaves out which system call failed on a path.
func asInput(err error) error {
	if errors.Is(err, errUsage) {
		return err // it says so already
	}
	if at, ok := err.(*fs.PathError); ok {
		err = fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

type openedHistory struct {
	path      string
	run       *results.Run // the record of its run beside it; nil for none
	file      string       // the same if each operation is a line of it; else ""
	header    history.Header
	ops       checker.Source
	close     func() error
	truncated func() bool       // known at the end
	commands  []history.Command // of a recording, which has both in one file
	scripts   map[string]string // likewise
}

// openHistory opens a history of ours, or one of Jepsen's by its name, with the record of its run,
// if any lies beside it. A run that ended before its clients began has an empty history.
func openHistory(path string) (h openedHistory, err error) {
	if d, noRun := results.Open(path); noRun == nil && isRunHistory(path) {
		run, err := d.LoadRun()
		if err != nil {
			return h, err
		}
		h.run = &run
	}
	h.path, h.close, h.truncated = path, func() error { return nil }, func() bool { return true }
	switch {
	case filepath.Ext(path) == ".edn":
		header, ops, err := edn.Open(path)
		h.header, h.ops, h.close, h.truncated = header, ops, ops.Close, func() bool { return false }
		return h, err
	case filepath.Base(path) == results.RecordingFile:
		r, err := history.LoadRecording(path)
		h.header, h.ops, h.commands, h.scripts = r.Header, history.NewSlice(r.Ops), r.Commands, r.Scripts
		return h, err
	}
	r, err := history.Open(path)
	switch {
	case h.run != nil && errors.Is(err, fs.ErrNotExist):
		h.ops = history.NewSlice(nil)
	case err != nil:
		return h, err
	default:
		r.Salvage()
		h.file, h.header, h.ops, h.close, h.truncated = path, r.Header(), r, r.Close, r.Truncated
	}
	return h, nil
}

// historyIn finds the history in a run directory: the recording if the run was killed. Any other
// path is the history itself.
func historyIn(path string) string {
	dir, file := filepath.Split(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir, file = path, results.HistoryFile
	}
	if recording := filepath.Join(dir, results.RecordingFile); file == results.HistoryFile && exists(recording) {
		return recording
	}
	return unpacked(filepath.Join(dir, file))
}

// hasHistory says what a directory without a history is, and what to do with it. A run that was
// ended early has none and is judged as empty.
func hasHistory(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil
	}
	if exists(filepath.Join(path, results.RunFile)) {
		if _, err := openRun(path); errors.Is(err, errFinding) {
			return asInput(err)
		}
		return nil
	}
	if exists(historyIn(path)) {
		return nil
	}
	for name, what := range map[string]string{results.SuiteFile: "suite", results.BenchFile: "bench"} {
		if exists(filepath.Join(path, name)) {
			return fmt.Errorf("%w: %s is the record of a %s, and check judges the history of a run; 'lockbench report %s -f text' shows the %s%s",
				errUsage, path, what, path, what, runsIn(path))
		}
	}
	return fmt.Errorf("%w: %s is a directory without a history: check takes a run directory or a history file%s", errUsage, path, runsIn(path))
}

// runsIn points to the runs that a directory holds; "" if there are none.
func runsIn(path string) string {
	switch runs := runsBelow(path); len(runs) {
	case 0:
		return ""
	case 1:
		return "; one run is in it: " + runs[0]
	default:
		return fmt.Sprintf("; %d runs are in it, such as %s", len(runs), runs[len(runs)-1])
	}
}

// runsBelow returns the directories of the runs in a folder, without the link to the latest; none
// if it cannot be read.
func runsBelow(path string) (dirs []string) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if dir := filepath.Join(path, e.Name()); e.IsDir() && exists(filepath.Join(dir, results.RunFile)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// unpacked returns the path of a file that another tool may have left uncompressed, without .zst.
func unpacked(path string) string {
	if plain := strings.TrimSuffix(path, ".zst"); !exists(path) && exists(plain) {
		return plain
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// beside loads what lies beside a run's history, if anything: commands, fault windows, and what the
// servers executed. Of a run that was killed that has not been joined to the commands yet.
func beside(ctx context.Context, h openedHistory) (rec explain.Record, err error) {
	rec.Header = h.header
	if !isRunHistory(h.path) {
		return rec, nil
	}
	dir := filepath.Dir(h.path)
	if rec.Commands, rec.Scripts = h.commands, h.scripts; filepath.Base(h.path) != results.RecordingFile {
		rec.Commands, rec.Scripts, err = history.LoadCommands(unpacked(filepath.Join(dir, results.CommandsFile)))
	}
	windows, windowsErr := history.LoadWindows(filepath.Join(dir, results.FaultsFile))
	faults.Describe(windows)
	rec.Faults = windows
	if err = errors.Join(present(err), present(windowsErr)); err != nil {
		return rec, err
	}
	log, err := history.LoadServer(unpacked(filepath.Join(dir, results.ServerFile)))
	switch {
	case err != nil:
		return rec, present(err)
	case log.Raw != nil:
		rec.Effects, err = effects.Join(ctx, effects.Record{Header: h.header, Commands: rec.Commands, Scripts: rec.Scripts, Faults: windows, Logs: log.Raw, Skip: workloads.IsStore})
	case !log.Cut && !history.IsDerived(log.Source): // else it has no more in it than the commands
		rec.Effects = log.Events
	}
	return rec, err
}

// present ignores the error of a missing file.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isRunHistory reports whether a history has the path that a run gives it, and not that of another
// tool in any folder.
func isRunHistory(path string) bool {
	name := filepath.Base(path)
	return name == results.RecordingFile || strings.TrimSuffix(name, ".zst") == strings.TrimSuffix(results.HistoryFile, ".zst")
}
