package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/edn"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

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
