package explain_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// corpus reads testdata/corpus.txt: cases in the form of parse, each under a heading "== cause/what
// happened". Scripts above the first case are common to all.
func corpus(t *testing.T) (cases []*story) {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	common := newStory(t, "")
	for name, source := range catalogueScripts(t) {
		common.addScript(name, source)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, heading := strings.CutPrefix(line, "== ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case heading:
			s := newStory(t, name)
			s.digests, s.Scripts = common.digests, common.Scripts
			cases = append(cases, s)
		case len(cases) == 0:
			common.add(line)
		default:
			cases[len(cases)-1].add(line)
		}
	}
	for _, s := range cases { // the operations that show the violations
		for i := range s.violations {
			v := &s.violations[i]
			stuck := v.Property == verdicts.Progress || v.Property == verdicts.Refusal
			v.Witness.Operations = slices.DeleteFunc(slices.Clone(s.Ops), func(op history.Operation) bool {
				return !slices.Contains(v.Clients, op.Client) || stuck && (op.Op != history.Acquire || op.Call > v.At+v.Lasted || op.Return < v.At)
			})
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

// server returns an embedded server.
func server(t *testing.T) *fakeredis.Server {
	t.Helper()
	srv, err := fakeredis.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// answered returns the violations of a case with their causes, and the answers.
func answered(t *testing.T, s *story, rec explain.Record, srv *fakeredis.Server) ([]checker.Violation, []explain.Answer) {
	t.Helper()
	v := &checker.Verdict{Operations: s.counted(), Violations: slices.Clone(s.violations)}
	found, err := explain.Verdict(t.Context(), v, rec, srv)
	if err != nil {
		t.Fatal(err)
	}
	return v.Violations, found.Answers
}

// TestCorpus compares the causes with the headings of the cases, and each answer with that of the
// same question.
func TestCorpus(t *testing.T) {
	srv, right := server(t), 0
	for _, s := range corpus(t) {
		rec := s.recorded(t.Context(), srv)
		violations, answers := answered(t, s, rec, srv)
		for range 8 {
			_, again := answered(t, s, rec, srv)
			for i := range again {
				if said(again[i]) != said(answers[i]) {
					t.Errorf("%s: %s, and then %s", s.name, said(answers[i]), said(again[i]))
				}
			}
		}
		for i, v := range violations {
			if v.Cause != s.want[i] {
				t.Errorf("%s: %s between %v: %s, want %s (%s)", s.name, v.Property, v.Clients, v.Cause, s.want[i], said(answers[i]))
				continue
			}
			right++
		}
	}
	if right < 165 {
		t.Errorf("%d violations: some cases are gone", right)
	}
}
