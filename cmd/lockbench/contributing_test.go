package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repository = "../.."

// TestContributingIsTrue: every file and folder that the page names in backquotes exists.
func TestContributingIsTrue(t *testing.T) {
	page := read(t, "docs/contributing.md")
	named := regexp.MustCompile("`((?:[a-z.]+/)+[a-zA-Z0-9_.*-]*|[a-z]+/[a-z_]+\\.go)`")
	all := named.FindAllStringSubmatch(page, -1)
	if len(all) < 30 {
		t.Errorf("only %d paths were found on the page", len(all))
	}
	for _, m := range all {
		path := strings.NewReplacer("NAME", "*", "<family>", "*").Replace(m[1])
		if found, _ := filepath.Glob(filepath.Join(repository, path)); len(found) == 0 {
			t.Errorf("%s does not exist", m[1])
		}
	}
}

// TestGatedTestsAreRun: each environment variable that lets a test run, or run longer, is set by a
// script, and the page names the script.
func TestGatedTestsAreRun(t *testing.T) {
	scripts := read(t, ".ci/run") + read(t, "scripts/soak.sh")
	asks := regexp.MustCompile(`Getenv\("(LOCKBENCH_[A-Z_]+)"\)`)
	err := filepath.WalkDir(repository, func(path string, e fs.DirEntry, err error) error {
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
	if err != nil || !strings.Contains(read(t, "docs/contributing.md"), "scripts/soak.sh") {
		t.Errorf("%v, or the page does not name scripts/soak.sh", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	must(t, err)
	return string(text)
}
