package explain_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/schema"
	"github.com/lockbench/lockbench/internal/schematest"
	"github.com/lockbench/lockbench/verdicts"
)

// corpus reads testdata/corpus.txt: cases in the form of parse, each under a heading "== cause/what happened". Scripts above the first case are common to
// all.
func corpus(t *testing.T) (cases []*story) {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	common := newStory("")
	for name, source := range catalogueScripts(t) {
		common.addScript(name, source)
	}
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		name, heading := strings.CutPrefix(line, "== ")
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case heading:
			s := newStory(name)
			s.digests, s.Scripts = common.digests, common.Scripts
			cases = append(cases, s)
		case len(cases) == 0:
			err = common.add(line)
		default:
			err = cases[len(cases)-1].add(line)
		}
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
	}
	for _, s := range cases {
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
	}
	return cases
}

// catalogueScripts returns the scripts of the catalogue's locks, by file.
func catalogueScripts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS("../impls"), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		source, err := os.ReadFile(filepath.Join("../impls", path))
		all[filepath.Base(path)] = string(source)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d scripts: %v", len(all), err)
	}
	return all
}

// TestCorpus compares the causes with the headings of the cases.
func TestCorpus(t *testing.T) {
	cases := corpus(t)
	if len(cases) < 175 {
		t.Fatalf("%d cases: some are gone", len(cases))
	}
	perCause := map[verdicts.Cause]int{}
	for _, s := range cases {
		violations, answers := answered(t, s, s.recorded())
		for i, v := range violations {
			perCause[s.want[i]]++
			if v.Cause != s.want[i] {
				t.Errorf("%s: %s between %v: %s, want %s (%s)", s.name, v.Property, v.Clients, v.Cause, s.want[i], said(answers[i]))
			}
		}
	}
	for _, cause := range verdicts.Causes() {
		elsewhere := cause == verdicts.CountExpired || cause == verdicts.Barging // cause_test.go and testdata/found have their cases
		if perCause[cause] == 0 && !elsewhere {
			t.Errorf("no case has the cause %s", cause)
		}
	}
}

// TestCorpusCauseNeedsEvidence removes from each case the evidence for its cause: the new conclusion must not depend on it.
func TestCorpusCauseNeedsEvidence(t *testing.T) {
	for _, s := range corpus(t) {
		less := s.recorded()
		less.Commands = nil
		_, answers := answered(t, s, less)
		for i, a := range answers {
			if a.Cause != verdicts.CauseUnknown && !strings.HasPrefix(said(a), "the operations alone prove it") {
				t.Errorf("%s without commands: %s between %v: %s", s.name, s.violations[i].Property, s.violations[i].Clients, said(a))
			}
		}
	}
}

// TestCorpusFitsTheSchemas validates the files of each case against the schemas.
func TestCorpusFitsTheSchemas(t *testing.T) {
	for _, s := range corpus(t) {
		var ops, commands, windows bytes.Buffer
		w := history.NewWriter(&ops, s.Header)
		for i := range s.Ops {
			if err := w.Write(&s.Ops[i]); err != nil {
				t.Fatal(err)
			}
		}
		c, err := history.NewCommandWriter(&commands, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Commands {
			if err := c.Write(&s.Commands[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), c.Close(), history.WriteWindows(&windows, s.Faults)); err != nil {
			t.Fatal(err)
		}
		for rule, text := range map[string]string{string(schema.History): ops.String(), string(schema.Commands): commands.String(), string(schema.Faults): windows.String()} {
			for line := range strings.Lines(text) {
				for _, problem := range schematest.Check(t, []byte(rule), []byte(line)) {
					t.Errorf("%s: %s: %s", s.name, problem, line)
				}
			}
		}
	}
}
