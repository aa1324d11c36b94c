package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/impls/catalogue"
)

const moduleRoot = "../../"

// pages are the README and the pages under docs, by path from the root of the module.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(moduleRoot + "docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages under docs: %v", err)
	}
	out := []string{"README.md"}
	for _, path := range found {
		out = append(out, "docs/"+filepath.Base(path))
	}
	return out
}

// readPage returns the text of a page.
func readPage(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(moduleRoot + page)
	must(t, err)
	return string(data)
}

// keep compares a page with what it must be, or writes it with -update.
func keep(t *testing.T, page, is, want string) {
	t.Helper()
	if is == want {
		return
	}
	if *update {
		must(t, os.WriteFile(moduleRoot+page, []byte(want), 0o644))
		return
	}
	t.Errorf("%s is not what -update would write (- is, + would be):\n%s", page, cmp.Diff(is, want))
}

// TestReadmeTables holds the tables of the pages to the catalogue, the list of reproductions and
// the stored suite.
func TestReadmeTables(t *testing.T) {
	for _, page := range pages(t) {
		text := readPage(t, page)
		want := text
		for _, name := range sectionsOf(text) {
			write, ok := sections[name]
			if !ok {
				t.Errorf("%s: nothing writes section %q", page, name)
				continue
			}
			want = replaceSection(t, page, want, name, write(t))
		}
		keep(t, page, text, want)
	}
}

var sectionMark = regexp.MustCompile(`(?m)^<!-- ([a-z-]+): written by go test ./cmd/lockbench -run Readme -update -->$`)

// sectionsOf lists the names of the sections of a page that a test writes.
func sectionsOf(text string) (names []string) {
	for _, m := range sectionMark.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// replaceSection puts body between the marks of a section.
func replaceSection(t *testing.T, page, text, name, body string) string {
	t.Helper()
	begin := fmt.Sprintf("<!-- %s: written by go test ./cmd/lockbench -run Readme -update -->\n", name)
	end := fmt.Sprintf("<!-- end of %s -->", name)
	before, rest, _ := strings.Cut(text, begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s: section %q has no end", page, name)
	}
	return before + begin + "\n" + strings.TrimRight(body, "\n") + "\n\n" + end + after
}

// TestReadmeCommands runs every "$ lockbench …" of the pages, page by page in an empty folder, in
// order. A command that must fail says so with "# exit N". Lines that follow a command are compared
// with what it prints on stdout; a line "…" stands for any lines.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	for _, page := range pages(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text := readPage(t, page)
			keep(t, page, text, runPage(t, t.TempDir(), text))
		})
	}
}

// runPage runs the commands of a page in a folder and returns the page with what they printed in
// place of the output it shows.
func runPage(t *testing.T, dir, text string) string {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		command, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "$ lockbench ")
		if !ok {
			continue
		}
		got := runCommand(t, dir, command)
		first := i + 1
		for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") && !strings.HasPrefix(lines[i+1], "```") {
			i++
		}
		if shown := strings.Join(lines[first:i+1], ""); matches(shown, got) {
			out.WriteString(shown)
		} else {
			out.WriteString(got)
		}
	}
	return out.String()
}

// runCommand runs one command line, holds it to its exit code, and returns its standard output
// without what differs between two runs: the name of the run directory.
func runCommand(t *testing.T, dir, line string) string {
	t.Helper()
	line, note, _ := strings.Cut(line, "#")
	want := 0
	if _, err := fmt.Sscanf(note, " exit %d", &want); note != "" && err != nil {
		t.Errorf("lockbench %s: the comment %q names no exit code", line, note)
	}
	c := exec.CommandContext(t.Context(), "lockbench", strings.Fields(line)...)
	c.Dir = dir
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); c.ProcessState.ExitCode() != want {
		t.Errorf("lockbench %s: %v, want exit code %d\n%s%s", line, err, want, stdout.Bytes(), stderr.Bytes())
	}
	return runName.ReplaceAllString(stdout.String(), "$1-…")
}

// runName matches the part of a run directory's name that does not differ between two runs, and the
// part that does.
var runName = regexp.MustCompile(`(results/runs/[a-z0-9-]+?)-\d{8}T\d{6}Z-[0-9a-f]+`)

// matches reports whether shown is got, where a line "…" of shown stands for any lines. Nothing
// shown matches anything.
func matches(shown, got string) bool {
	if strings.TrimSpace(shown) == "" {
		return true
	}
	parts := strings.Split("\n"+shown, "\n…\n")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimPrefix(part, "\n"))
	}
	return regexp.MustCompile(`\A` + strings.Join(parts, `\n?(?s:.*)`) + `\n?\z`).MatchString(got)
}

// TestReadmeMatches shows what counts as the same output.
func TestReadmeMatches(t *testing.T) {
	for _, row := range []struct {
		shown, got string
		want       bool
	}{
		{"", "anything\n", true},            // nothing is shown
		{"a\nb\n", "a\nb\n", true},          // the same
		{"a\nb\n", "a\nc\n", false},         // another line
		{"a\n…\nd\n", "a\nb\nc\nd\n", true}, // lines left out
		{"a\n…\nd\n", "a\nb\nc\n", false},   // the last line is missing
		{"a\n…\n", "a\nb\n", true},          // the rest left out
		{"a.c\n", "abc\n", false},           // no pattern
		{"a\n", "a\nb\n", false},            // more than is shown
	} {
		if got := matches(row.shown, row.got); got != row.want {
			t.Errorf("matches(%q, %q) = %v", row.shown, row.got, got)
		}
	}
}

// TestReadmeIsShort keeps the README to a length that is read.
func TestReadmeIsShort(t *testing.T) {
	lines := strings.Split(readPage(t, "README.md"), "\n")
	if len(lines) > 156 {
		t.Errorf("README.md has %d lines, want at most 155", len(lines)-1)
	}
	for i, line := range lines {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("README.md:%d has %d characters, want at most 100", i+1, n)
		}
	}
}

// TestPagesAreShort keeps each page to a length that is read: so many words, without what a test
// writes. What a command prints stands on no page.
func TestPagesAreShort(t *testing.T) {
	budgets := map[string]int{
		"README.md": 755, "docs/choosing.md": 695, "docs/verdicts.md": 1390, "docs/faults.md": 785,
		"docs/your-lock.md": 780, "docs/benchmarking.md": 805, "docs/simulator.md": 700,
		"docs/files.md": 670, "docs/ci.md": 350, "docs/locks.md": 245, "docs/findings.md": 1190,
		"docs/how-it-is-built.md": 510, "docs/contributing.md": 675,
	}
	written := regexp.MustCompile(`(?s)<!-- ([a-z-]+): written by .*?<!-- end of [a-z-]+ -->`)
	for _, page := range pages(t) {
		words := 0
		for _, w := range strings.Fields(written.ReplaceAllString(readPage(t, page), "")) {
			if strings.ContainsFunc(w, unicode.IsLetter) || strings.ContainsFunc(w, unicode.IsDigit) {
				words++
			}
		}
		if words > budgets[page] {
			t.Errorf("%s has %d words, want at most %d", page, words, budgets[page])
		}
	}
}

// TestReadmeChild: the page shows the example of a child as it is, and the README counts its lines.
func TestReadmeChild(t *testing.T) {
	child := readPage(t, "examples/exec/mylock.py")
	if !strings.Contains(readPage(t, "docs/your-lock.md"), "```python\n"+child+"```\n") {
		t.Error("docs/your-lock.md does not show examples/exec/mylock.py")
	}
	if want := fmt.Sprintf("[%d lines of Python]", strings.Count(child, "\n")); !strings.Contains(readPage(t, "README.md"), want) {
		t.Errorf("README.md does not say %s", want)
	}
}

// TestReadmeCounts holds the numbers in the README's first paragraph to the catalogue.
func TestReadmeCounts(t *testing.T) {
	counts := map[string]int{}
	for _, v := range catalogue.Locks() {
		switch {
		case strings.HasPrefix(v.Source.Article, "github.com/"):
			counts["library"]++
		case strings.HasPrefix(v.Source.Article, "lockbench"):
			counts["ours"]++
		default:
			counts["printed"]++
		}
	}
	want := fmt.Sprintf("It ships %d locks: %d as five articles and the Redis documentation print them, %d that improve on those, and %d configurations of three released libraries. "+
		"A whole suite also runs %d locks with a planted bug", len(catalogue.Locks()), counts["printed"], counts["ours"], counts["library"], len(catalogue.Planted()))
	if text := strings.Join(strings.Fields(readPage(t, "README.md")), " "); !strings.Contains(text, want) {
		t.Errorf("README.md does not say: %s", want)
	}
}

// TestScenarioCounts: the pages count the scenarios that the suite runs, and those that it leaves
// out.
func TestScenarioCounts(t *testing.T) {
	expected := map[string]bool{}
	for _, v := range catalogue.Locks() {
		for name := range v.Expect {
			expected[name] = true
		}
	}
	for page, want := range map[string]string{
		"README.md":        fmt.Sprintf("all locks × %d scenarios", len(expected)),
		"docs/choosing.md": fmt.Sprintf("every lock in the %d scenarios for which the catalogue has expectations", len(expected)),
	} {
		if !strings.Contains(readPage(t, page), want) {
			t.Errorf("%s does not say: %s", page, want)
		}
	}
	if want := fmt.Sprintf("The other %d of", len(scenarioNames())-len(expected)); !strings.Contains(readPage(t, "docs/choosing.md"), want) {
		t.Errorf("docs/choosing.md does not say: %s", want)
	}
}

// TestReadmeLinks wants every relative link of the pages to lead to a file.
func TestReadmeLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(readPage(t, page), -1) {
			if _, err := os.Stat(filepath.Join(moduleRoot, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}
