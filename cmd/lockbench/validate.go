package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/scenarios"
)

func newValidate(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Say what a file is and whether it is good; runs nothing",
		Long: "validate reads scenarios (.yaml), histories (.jsonl, .jsonl.zst, .edn), stored suites and benches (what --baseline takes), tapes and run\n" +
			"directories as the commands do that take them. It says what each is, or where it is wrong: file, line, column, and what was expected.\n" +
			"It exits 0 if every file is good, else 4, and judges nothing: 'lockbench check' gives the verdict of a history.",
		Example: "  lockbench validate mine.yaml\n  lockbench validate history.jsonl suite.json results/runs/latest",
		Args:    takes("needs FILE", 1, math.MaxInt),
	}
	type validation struct { // a good file has a kind and what it has in it, another the error
		File  string `json:"file"`
		State string `json:"state"` // good, wrong
		Kind  string `json:"kind,omitempty"`
		What  string `json:"what,omitempty"`
		Error string `json:"error,omitempty"`
	}
	c.RunE = func(c *cobra.Command, paths []string) (err error) {
		ctx, end := a.interruptible(c.Context())
		defer end()
		all := []validation{}
		for _, path := range paths {
			kind, what, wrong := a.validated(ctx, path)
			switch {
			case errors.Is(wrong, errInterrupted):
				return errors.Join(err, wrong)
			case wrong != nil:
				all = append(all, validation{File: path, State: "wrong", Error: inPlain(wrong)})
				err = errors.Join(err, wrong)
				continue
			}
			all = append(all, validation{File: path, State: "good", Kind: kind, What: what})
			if !a.json() {
				good := report.Wrap(columns, "good  ", report.Clean(fmt.Sprintf("%s: a %s: %s", path, kind, what)))
				_, printed := fmt.Fprintln(a.out, strings.Join(good, "\n"))
				err = errors.Join(err, printed)
			}
		}
		if a.json() {
			return errors.Join(a.writeJSON(all), err)
		}
		return err
	}
	return c
}

// validated says what a file is and what is in it.
func (a *app) validated(ctx context.Context, path string) (kind, what string, err error) {
	switch ext := filepath.Ext(path); {
	case ext == ".yaml", ext == ".yml":
		s, err := scenarios.Load(path)
		if err != nil {
			return "", "", asInput(err)
		}
		return "scenario", fmt.Sprintf("%s, workload %s, %s, %s", s.Name, s.Workload, report.Plural(s.Clients, "client"), report.Plural(len(s.Faults), "fault")), nil
	case ext == ".edn", ext == ".jsonl", ext == ".zst":
		return a.validHistory(ctx, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", "", asInput(err)
	}
	if !info.IsDir() {
		schema, err := schemaOf(path)
		switch {
		case err != nil:
			return "", "", fmt.Errorf("%w; a scenario ends in .yaml, a history in .jsonl, .zst or .edn, and all else is JSON", err)
		case strings.HasPrefix(schema, "lockbench/history/"):
			return a.validHistory(ctx, path)
		case strings.HasPrefix(schema, "lockbench/tape/"):
			t, err := readTape(path)
			if err != nil {
				return "", "", asInput(err)
			}
			return "tape", fmt.Sprintf("of %s, which shows %s by %s", t.Program.Lock, t.Property, t.Cause), nil
		}
	}
	r, err := openRecord(path)
	if err != nil {
		return "", "", asInput(err)
	}
	if what = r.entry.What + " on " + r.entry.Server; r.entry.Kind == "run" || r.entry.Kind == "explore" {
		_, what, err = a.validHistory(ctx, r.dir)
	}
	return r.entry.Kind, what, err
}

// validHistory reads a history with what lies beside it, as check does. One that is cut off can be
// judged.
func (a *app) validHistory(ctx context.Context, path string) (kind, what string, err error) {
	j, err := a.judged(ctx, path, false)
	if err != nil {
		return "", "", err
	}
	n := 0
	for _, outcomes := range j.verdict.Operations {
		for _, count := range outcomes {
			n += count
		}
	}
	what = report.Plural(n, "operation")
	if j.run.Lock != "" {
		what += " of " + j.run.Lock
	}
	if j.cut {
		what += "; its end is cut off, and check judges what stands before"
	}
	return "history", what, nil
}
