package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lockbench/lockbench/"

// floors are the top folders, ground floor first: the packages of one import those below it, and each other.
var floors = []string{
	"internal", "verdicts", "history", "impls", "subject", "servers", "faults", "workloads", "checker", "explain", "story", "results", "sim", "scenarios", "harness", "bench",
	"repro", "report", "locktest", "cmd", "examples",
}

// strangers are what the packages of a floor must not import though it lies below, or outside of the module.
var strangers = map[string][]string{
	// The records and their judgement need no lock, no server and no network.
	"history": {"net", "github.com/redis/", module + "verdicts"},
	"checker": {"net", "github.com/redis/", module + "impls", module + "servers", module + "faults", module + "workloads"},
	// What clients do is the same whatever strikes them.
	"workloads": {module + "servers", module + "faults"},
	// What is written for people is made from the record of a run, not from the run.
	"report":  {module + "harness", module + "servers", module + "faults", module + "repro", module + "sim", module + "impls", "github.com/redis/"},
	"results": {module + "impls", module + "servers", "github.com/redis/"},
}

func TestImportsPointDown(t *testing.T) {
	root := filepath.Join("..", "..")
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		read++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if why := forbidden(topOf(filepath.ToSlash(rel)), imported); why != "" {
				t.Errorf("%s imports %s: %s", rel, imported, why)
			}
		}
		return err
	})
	if err != nil || read == 0 {
		t.Fatalf("%d files read: %v", read, err)
	}
}

// forbidden says why a package of the floor must not import that path; "" when it may.
func forbidden(floor, imported string) string {
	at := slices.Index(floors, floor)
	if at < 0 {
		return floor + " is on no floor yet"
	}
	if strings.HasPrefix(imported, "github.com/spf13/") && floor != "cmd" {
		return "commands are parsed on the top floor alone"
	}
	for _, s := range strangers[floor] {
		if imported == s || strings.HasPrefix(imported, strings.TrimSuffix(s, "/")+"/") {
			return floor + " knows nothing of " + s
		}
	}
	if rest, ours := strings.CutPrefix(imported, module); ours && slices.Index(floors, topOf(rest)) > at {
		return topOf(rest) + " lies above " + floor
	}
	return ""
}

func topOf(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return top
}

func TestForbiddenImportsAreSeen(t *testing.T) {
	for _, row := range []struct {
		floor, imported string
		want            bool
	}{
		{"impls", module + "checker", true},              // up
		{"checker", module + "history", false},           // down
		{"history", module + "history/edn", false},       // beside
		{"checker", module + "impls/catalogue", true},    // down, to a stranger
		{"checker", "net/http", true},                    // out, to a stranger
		{"history", "net", true},                         // the same, by its whole name
		{"sim", "github.com/spf13/cobra", true},          // no flags below the top
		{"cmd", "github.com/spf13/cobra", false},         // where they belong
		{"attic", module + "history", true},              // a folder that has no floor
		{"checker", "network", false},                    // a name that only begins like a stranger's
		{"report", module + "harness", true},             // down, to a stranger
		{"report", "github.com/redis/go-redis/v9", true}, // a stranger's own packages
	} {
		if why := forbidden(row.floor, row.imported); (why != "") != row.want {
			t.Errorf("%s imports %s: %q, want a refusal: %v", row.floor, row.imported, why, row.want)
		}
	}
}

// TestEveryFloorIsInThePicture keeps the picture of the packages complete.
func TestEveryFloorIsInThePicture(t *testing.T) {
	picture, _, _ := strings.Cut(readPage(t, "docs/how-it-is-built.md"), "## One run")
	for _, floor := range floors {
		if !regexp.MustCompile(`(?m)(^| )` + floor + `[ /]`).MatchString(picture) {
			t.Errorf("docs/how-it-is-built.md does not have %s", floor)
		}
	}
}

// TestPackagesSayWhatTheyAreFor: each package has a comment that go doc shows.
func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	root := filepath.Join("..", "..")
	about := map[string]bool{} // by folder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		about[filepath.Dir(path)] = about[filepath.Dir(path)] || file.Doc != nil
		return nil
	})
	if err != nil || len(about) < 40 {
		t.Fatalf("%d packages read: %v", len(about), err)
	}
	for dir, said := range about {
		if !said {
			t.Errorf("%s has no package comment", dir)
		}
	}
}
