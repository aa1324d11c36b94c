package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// mentions finds in a page's code what begins with a word: to the end of the code span or of the
// line, or to what a shell puts behind it.
func mentions(text, word string) (out []string) {
	for _, m := range regexp.MustCompile("(?m)(?:^|[\\s`(=])"+word+" ([^`\\n]*)").FindAllStringSubmatch(text, -1) {
		out = append(out, regexp.MustCompile(` (?:#|\||>|&&|;).*`).ReplaceAllString(m[1]+" ", ""))
	}
	return out
}

// code returns the code spans and blocks of a page, a line each at least.
func code(text string) string {
	return strings.Join(regexp.MustCompile("(?s)```.*?```|`[^`\n]+`").FindAllString(text, -1), "\n")
}

// TestPagesNameWhatThereIs: each command that a page names exists, with the flags that it is given;
// so does each test, make target and path. [TestReadmeCommands] runs those of them that stand
// behind a prompt.
func TestPagesNameWhatThereIs(t *testing.T) {
	targets, err := os.ReadFile(moduleRoot + "Makefile")
	must(t, err)
	root := newRoot(&app{world: newWorld("").world, line: &statusLine{}})
	root.InitDefaultHelpCmd()
	found := map[string]int{}
	for _, page := range pages(t) {
		text := code(readPage(t, page))
		for _, command := range slices.Concat(mentions(text, "lockbench"), mentions(text, "go run ./cmd/lockbench")) {
			found["command"]++
			if why := noSuchCommand(root, strings.Fields(command)); why != "" {
				t.Errorf("%s: lockbench %s: %s", page, command, why)
			}
		}
		for _, command := range mentions(text, "go test") {
			found["test"]++
			if why := noSuchTest(t, command); why != "" {
				t.Errorf("%s: go test %s: %s", page, command, why)
			}
		}
		for _, command := range mentions(text, "make") {
			for _, target := range strings.Fields(command) {
				found["target"]++
				if !strings.Contains(target, "=") && !strings.Contains("\n"+string(targets), "\n"+target+":") {
					t.Errorf("%s: make %s: no such target", page, target)
				}
			}
		}
		for _, path := range pathsOf(t, readPage(t, page)) {
			found["path"]++
			if matches, err := filepath.Glob(filepath.Join(moduleRoot, path)); err != nil || len(matches) == 0 {
				t.Errorf("%s names %s, which is not in the repository", page, path)
			}
		}
	}
	for kind, least := range map[string]int{"command": 5, "test": 5, "target": 5, "path": 40} {
		if found[kind] < least {
			t.Errorf("%d of kind %s were found, want at least %d", found[kind], kind, least)
		}
	}
}

// pathsOf returns the code spans that name a file or folder of the repository: those that begin
// with one of its top folders. A package may be followed by a name that it exports; what a run
// writes below results/ is not in the repository, and NAME and <family> stand for any.
func pathsOf(t *testing.T, text string) (out []string) {
	entries, err := os.ReadDir(moduleRoot)
	must(t, err)
	for _, m := range regexp.MustCompile("`([\\w.-]+)(/[\\w./*<>-]*)`").FindAllStringSubmatch(text, -1) {
		folder := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && e.Name() == m[1] })
		kept := m[1] != "results" || strings.HasPrefix(m[2], "/baseline")
		if folder && kept || strings.HasSuffix(m[2], ".go") {
			path := strings.NewReplacer("NAME", "*", "<family>", "*").Replace(m[2])
			out = append(out, m[1]+regexp.MustCompile(`\.[A-Z]\w*$`).ReplaceAllString(path, ""))
		}
	}
	return out
}

// noSuchCommand says what of a command line does not exist; "" when all of it does. Values are not
// looked at: some are placeholders.
func noSuchCommand(root *cobra.Command, words []string) string {
	c, _, err := root.Find(words[:min(1, len(words))])
	if err != nil {
		return err.Error()
	}
	for _, w := range words {
		name, _, _ := strings.Cut(strings.TrimLeft(w, "["), "=")
		name = strings.TrimRight(name, "],.:")
		if long, ok := strings.CutPrefix(name, "--"); ok && c.Flag(long) == nil && long != "help" && long != "version" {
			return "no flag " + name
		}
		if name == "--exec" {
			break // what follows has words of its own
		}
	}
	return ""
}

var (
	runFlag    = regexp.MustCompile(`-(?:run|bench)[ =]'?([^ ']+)`)
	packageArg = regexp.MustCompile(`\./[\w/]+`)
	testName   = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example|Fuzz)\w*)\(`)
)

// noSuchTest says what of a go test command does not exist; "" when all of it does.
func noSuchTest(t *testing.T, command string) string {
	dir := cmp.Or(packageArg.FindString(command), ".")
	if strings.Contains(command, "...") || dir == "." {
		return ""
	}
	files, err := filepath.Glob(filepath.Join(moduleRoot, dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return "no tests in " + dir
	}
	var names []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		must(t, err)
		for _, m := range testName.FindAllStringSubmatch(string(data), -1) {
			names = append(names, m[1])
		}
	}
	for _, m := range runFlag.FindAllStringSubmatch(command, -1) {
		top, _, _ := strings.Cut(m[1], "/")
		wanted, err := regexp.Compile(top)
		if err != nil {
			return err.Error()
		}
		if m[1] != "xxx" && m[1] != "^$" && !slices.ContainsFunc(names, wanted.MatchString) {
			return "no test matches " + m[1]
		}
	}
	return ""
}

func TestWhatIsNotThereIsSeen(t *testing.T) {
	root := newRoot(&app{world: newWorld("").world, line: &statusLine{}})
	for command, want := range map[string]string{
		"run --lock token":                    "",
		"run --lok token":                     "no flag --lok",
		"explore --exec 'python3 x --y'":      "",
		"suite [--locks a,b] --server=sim -q": "",
		"rum --lock token":                    `unknown command "rum" for "lockbench"`,
	} {
		if got := noSuchCommand(root, strings.Fields(command)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	named := pathsOf(t, "`sim/nowhere.go`, `sim/node.go`, `subject.Serve`, `results/abc`, `/tmp/x`, `go test ./sim`, `checker/`, `report/page.Run`, `a/b`")
	if want := []string{"sim/nowhere.go", "sim/node.go", "checker/", "report/page"}; !slices.Equal(named, want) {
		t.Errorf("%q, want %q", named, want)
	}
	for command, want := range map[string]string{
		"./cmd/lockbench -run WhatIsNotThere": "",
		"./cmd/lockbench -run Nowhere":        "no test matches Nowhere",
		"./nowhere -run X":                    "no tests in ./nowhere",
		"./...":                               "",
	} {
		if got := noSuchTest(t, command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestScreensFit: help texts and lists fit a terminal of 80 columns.
func TestScreensFit(t *testing.T) {
	screens := [][]string{{"help"}, {"list"}, {"doctor"}, {"repro"}}
	root := newRoot(&app{world: newWorld("").world, line: &statusLine{}})
	for _, c := range root.Commands() {
		screens = append(screens, []string{"help", c.Name()})
	}
	for _, l := range listings() {
		screens = append(screens, []string{"list", l.name})
	}
	for _, args := range screens {
		w := newWorld("")
		w.call(t, args...)
		for i, line := range strings.Split(w.out.String()+w.err.String(), "\n") {
			if n := len([]rune(line)); n > columns {
				t.Errorf("lockbench %s: line %d has %d columns: %s", strings.Join(args, " "), i+1, n, line)
			}
		}
	}
}

// TestGatedTestsAreRun: each environment variable that lets a test run, or run longer, is set by a
// script, and the page names the script.
func TestGatedTestsAreRun(t *testing.T) {
	scripts := readPage(t, ".ci/run") + readPage(t, "scripts/soak.sh")
	asks := regexp.MustCompile(`Getenv\("(LOCKBENCH_[A-Z_]+)"\)`)
	err := filepath.WalkDir(moduleRoot, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range asks.FindAllStringSubmatch(string(text), -1) {
			variable := m[1]
			for _, detail := range []string{"_FROM", "_FILE", "_SEED"} {
				variable = strings.TrimSuffix(variable, detail)
			}
			if !strings.Contains(scripts, variable) {
				t.Errorf("%s asks for %s, which no script sets", path, variable)
			}
		}
		return err
	})
	if err != nil || !strings.Contains(readPage(t, "docs/contributing.md"), "scripts/soak.sh") {
		t.Errorf("%v, or the page does not name scripts/soak.sh", err)
	}
}
