package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/edn"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

func operations(src checker.Source) (all []history.Operation, err error) {
	for {
		var op history.Operation
		switch err := src.Next(&op); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, op)
	}
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

// openHistory opens a history with the record of its run, if any lies beside it. A run that ended
// before its clients began has an empty history.
func openHistory(path string) (openedHistory, error) {
	run, err := recordBeside(path)
	if err != nil {
		return openedHistory{}, err
	}
	h, err := openOperations(path)
	if run != nil && errors.Is(err, fs.ErrNotExist) {
		h, err = openedHistory{ops: history.NewSlice(nil), close: nothingToClose, truncated: always}, nil
	}
	h.path, h.run = path, run
	return h, err
}

// openOperations opens a history of ours, or one of Jepsen's by its name.
func openOperations(path string) (openedHistory, error) {
	switch {
	case filepath.Ext(path) == ".edn":
		header, ops, err := edn.Open(path)
		return openedHistory{header: header, ops: ops, close: ops.Close, truncated: never}, err
	case filepath.Base(path) == results.RecordingFile:
		r, err := history.LoadRecording(path)
		return openedHistory{header: r.Header, ops: history.NewSlice(r.Ops), close: nothingToClose, truncated: always, commands: r.Commands, scripts: r.Scripts}, err
	}
	r, err := history.Open(path)
	if err != nil {
		return openedHistory{}, err
	}
	r.Salvage()
	return openedHistory{file: path, header: r.Header(), ops: r, close: r.Close, truncated: r.Truncated}, nil
}

func always() bool { return true }

func never() bool { return false }

func nothingToClose() error { return nil }

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
	runs, _ := filepath.Glob(filepath.Join(path, "*", results.RunFile)) // the only error is of a pattern
	runs = slices.DeleteFunc(runs, func(file string) bool { return filepath.Base(filepath.Dir(file)) == "latest" })
	switch n := len(runs); {
	case n == 1:
		return "; one run is in it: " + filepath.Dir(runs[0])
	case n > 1:
		return fmt.Sprintf("; %d runs are in it, such as %s", n, filepath.Dir(runs[n-1]))
	}
	return ""
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

// sidecars loads the commands and fault windows beside a run's history, if any.
func sidecars(h openedHistory) (commands []history.Command, scripts map[string]string, windows []history.Window, err error) {
	if !isRunHistory(h.path) {
		return nil, nil, nil, nil
	}
	dir := filepath.Dir(h.path)
	if commands, scripts = h.commands, h.scripts; filepath.Base(h.path) != results.RecordingFile {
		commands, scripts, err = history.LoadCommands(unpacked(filepath.Join(dir, results.CommandsFile)))
	}
	windows, windowsErr := history.LoadWindows(filepath.Join(dir, results.FaultsFile))
	faults.Describe(windows)
	return commands, scripts, windows, errors.Join(present(err), present(windowsErr))
}

// effectsBeside returns what the servers executed, if a file beside a history says so; nil: it is
// not known. That of a run that was killed has not been joined to the commands yet.
func effectsBeside(ctx context.Context, h openedHistory, in checker.Input, scripts map[string]string) ([]history.Executed, error) {
	if !isRunHistory(h.path) {
		return nil, nil
	}
	log, err := history.LoadServer(unpacked(filepath.Join(filepath.Dir(h.path), results.ServerFile)))
	switch {
	case err != nil:
		return nil, present(err)
	case log.Raw != nil:
		return effects.Join(ctx, effects.Record{Header: h.header, Commands: in.Commands, Scripts: scripts, Faults: in.Faults, Logs: log.Raw, Skip: workloads.IsStore})
	case log.Cut, history.IsDerived(log.Source):
		return nil, nil // the record has not more in it than the commands
	}
	return log.Events, nil
}

// present ignores the error of a missing file.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// recordBeside loads the run record of a history in its run directory; nil if there is none.
func recordBeside(path string) (*results.Run, error) {
	d, err := results.Open(path)
	if err != nil || !isRunHistory(path) {
		return nil, nil
	}
	run, err := d.LoadRun()
	return &run, err
}

// isRunHistory reports whether a history has the path that a run gives it, and not that of another
// tool in any folder.
func isRunHistory(path string) bool {
	name := filepath.Base(path)
	return name == results.RecordingFile || strings.TrimSuffix(name, ".zst") == strings.TrimSuffix(results.HistoryFile, ".zst")
}
