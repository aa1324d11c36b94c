package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/repro"
	"github.com/lockbench/lockbench/results"
)

const readmeFile = "../../README.md"

// TestReadmeTables holds the tables of the README to the catalogue, to the list of reproductions and to the stored suite.
func TestReadmeTables(t *testing.T) {
	data, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	text := section(t, string(data), "claims", claimsTable())
	text = section(t, text, "repros", reprosTable())
	text = section(t, text, "matrix", matrix(t))
	if *update {
		if err := os.WriteFile(readmeFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), text); diff != "" {
		t.Errorf("README.md is not what -update would write (- is, + would be):\n%s", diff)
	}
}

// section puts body between the marks of a name.
func section(t *testing.T, text, name, body string) string {
	t.Helper()
	begin := fmt.Sprintf("<!-- %s: written by go test ./cmd/lockbench -run Readme -update -->\n", name)
	end := fmt.Sprintf("<!-- end of %s -->", name)
	before, rest, ok := strings.Cut(text, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("README.md has no section %q", name)
	}
	return before + begin + "\n" + body + "\n" + end + after
}

func claimsTable() string {
	var b strings.Builder
	b.WriteString("| lock | source | claim | holds | command |\n|---|---|---|---|---|\n")
	for _, v := range catalogue.Locks() {
		for _, c := range v.Claims {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", v.Name, v.Source.Article, c.Text, map[bool]string{true: "yes", false: "**no**"}[c.Holds], c.Command)
		}
	}
	return b.String()
}

func reprosTable() string {
	var b strings.Builder
	b.WriteString("| bug | what happens | source | command |\n|---|---|---|---|\n")
	for _, r := range repro.Bugs() {
		fmt.Fprintf(&b, "| %s | %s | %s | `lockbench repro %s` |\n", r.Name, r.What, r.Source, r.Name)
	}
	return b.String()
}

// matrix is the stored suite as people see it, but for the list of planted bugs, of which the last line gives the sum.
func matrix(t *testing.T) string {
	t.Helper()
	suite, err := results.LoadSuite("../../results/baseline/suite-sim.json")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.Suite(&b, suite, report.Style{}); err != nil {
		t.Fatal(err)
	}
	cells, rest, _ := strings.Cut(b.String(), "\nplanted bugs")
	_, sum, _ := strings.Cut(rest, "\nsensitivity")
	sum, _, ok := strings.Cut(sum, ", median")
	if !ok {
		t.Fatalf("the stored suite shows no sensitivity:\n%s", b.String())
	}
	return "```text\n" + cells + "\nsensitivity" + sum + "\n```"
}

// TestReadmeCommands runs every "$ lockbench …" of the README, in order, in an empty folder. A command that is to fail says
// so with "# exit N".
func TestReadmeCommands(t *testing.T) {
	data, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for line := range strings.Lines(string(data)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ lockbench ")
		if !ok {
			continue
		}
		command, note, _ := strings.Cut(command, "#")
		code := "0"
		if n, ok := strings.CutPrefix(strings.TrimSpace(note), "exit "); ok {
			code = n
		}
		fmt.Fprintf(&script, "exits %s lockbench %s\n", code, strings.TrimSpace(command))
	}
	if strings.Count(script.String(), "\n") < 8 {
		t.Fatalf("the README shows too few commands:\n%s", script.String())
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits}})
}
