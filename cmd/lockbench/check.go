package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

func newCheck(a *app) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a stored history, ours or another tool's",
		Long: "check reads a history (.jsonl or .jsonl.zst, schema lockbench/history/v1, from any source) or a run directory, and\n" +
			"gives its verdict. Commands and fault windows that lie beside a history of ours make the causes more certain.",
		Example: "  lockbench check results/runs/latest\n  lockbench check history.jsonl.zst -o json\n  lockbench check --plain history.jsonl",
		Args:    exactly("HISTORY"),
		RunE:    func(c *cobra.Command, args []string) error { return a.check(c.Context(), args[0], plain) },
	}
	c.Flags().BoolVar(&plain, "plain", false, "search the whole history at once with Porcupine, for comparison")
	return c
}

func (a *app) check(ctx context.Context, path string, plain bool) (err error) {
	r, err := history.Open(historyIn(path))
	if err != nil {
		return asInput(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.Salvage()
	in := checker.Input{Header: r.Header(), Ops: r}
	if in.Commands, in.Faults, err = beside(r.File()); err != nil {
		return asInput(err)
	}
	v, err := checker.Check(ctx, in, checker.Options{Plain: plain})
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return asInput(err)
	}
	cut(v, r.Truncated())
	return a.showCheck(describe(r), *v)
}

// historyIn finds the history of a run directory; any other path is the history itself.
func historyIn(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, results.HistoryFile)
	}
	return path
}

// asInput marks an error as the input's: the file is not there, cannot be read, or says what cannot be.
func asInput(err error) error { return fmt.Errorf("%w: %w", errUsage, err) }

// beside loads what a run keeps beside its history. A history that is alone is judged alone.
func beside(path string) (commands []history.Command, windows []history.Window, err error) {
	dir := filepath.Dir(path)
	if filepath.Base(path) != results.HistoryFile && filepath.Base(path) != strings.TrimSuffix(results.HistoryFile, ".zst") {
		return nil, nil, nil // somebody else's, in a folder that may hold anything
	}
	commands, err1 := optional(history.LoadCommands(filepath.Join(dir, results.CommandsFile)))
	windows, err2 := optional(history.LoadWindows(filepath.Join(dir, results.FaultsFile)))
	return commands, windows, errors.Join(err1, err2)
}

func optional[T any](v []T, err error) ([]T, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return v, err
}

// cut lowers a pass when the end of the history is missing: what is not there was not judged.
func cut(v *checker.Verdict, truncated bool) {
	if !truncated {
		return
	}
	v.Notes = append(v.Notes, "the end of the history is cut off; what stands before the cut was judged")
	if v.Verdict == checker.Pass {
		v.Verdict = checker.Inconclusive
	}
}

// describe says what the history is of: from the run record beside it, or from its header and its name.
func describe(r *history.Reader) results.Run {
	if d, err := results.Open(r.File()); err == nil {
		if run, err := d.LoadRun(); err == nil {
			run.Argv = []string{"lockbench", "check", r.File()}
			return run
		}
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(r.File()), ".zst"), ".jsonl")
	return results.Run{Lock: r.Header().Lock, Scenario: name, Argv: []string{"lockbench", "check", r.File()}}
}

func (a *app) showCheck(run results.Run, v checker.Verdict) error {
	r := results.NewResult(run, v)
	r.SetLatency(nil, "not measured by check")
	show := func() error { return report.History(a.out, r, a.style()) }
	if a.json() {
		show = func() error { return a.writeJSON(r) }
	}
	return errors.Join(show(), verdictError(v.Verdict))
}
