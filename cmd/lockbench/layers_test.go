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

// layers are the top folders, lowest first: the packages of one import those below it, and each
// other.
var layers = []string{
	"internal", "verdicts", "history", "fakeredis", "impls", "effects", "subject", "servers", "faults", "workloads", "checker", "explain", "story", "results", "scenarios", "judge", "sim", "harness", "bench",
	"repro", "report", "locktest", "cmd", "examples",
}

// barred is what the packages of a layer must not import though it lies below, or outside of the
// module.
var barred = map[string][]string{
	// The records and their judgement need no lock, no server and no network.
	"history": {"net", "github.com/redis/", module + "verdicts"},
	"checker": {"net", "github.com/redis/", module + "impls", module + "servers", module + "faults", module + "workloads"},
	// A server knows nothing of the locks that use it.
	"fakeredis": {module + "impls", "github.com/redis/"},
	// What clients do is the same whatever faults there are.
	"workloads": {module + "servers", module + "faults"},
	// What is written for people is made from the record of a run, not from the run.
	"report":  {module + "harness", module + "servers", module + "faults", module + "repro", module + "sim", module + "impls", "github.com/redis/"},
	"results": {module + "impls", module + "servers", "github.com/redis/"},
}

func TestImportsPointDown(t *testing.T) {
	for path, imports := range allImports(t) {
		for _, imported := range imports {
			if why := forbidden(topOf(path), imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
	}
}

// allImports returns what each file of the module imports, without tests.
func allImports(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		all[rel] = []string{}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all[rel] = append(all[rel], imported)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files read: %v", len(all), err)
	}
	return all
}

// forbidden says why a package of the layer must not import that path; "" when it may.
func forbidden(layer, imported string) string {
	at := slices.Index(layers, layer)
	if at < 0 {
		return layer + " is in no layer yet"
	}
	if strings.HasPrefix(imported, "github.com/spf13/") && layer != "cmd" {
		return "commands are parsed in the top layer alone"
	}
	for _, s := range barred[layer] {
		if imported == s || strings.HasPrefix(imported, strings.TrimSuffix(s, "/")+"/") {
			return layer + " knows nothing of " + s
		}
	}
	if rest, ours := strings.CutPrefix(imported, module); ours && slices.Index(layers, topOf(rest)) > at {
		return topOf(rest) + " lies above " + layer
	}
	return ""
}

func topOf(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return top
}

func TestForbiddenImportsAreSeen(t *testing.T) {
	for _, row := range []struct {
		layer, imported string
		want            bool
	}{
		{"impls", module + "checker", true},              // up
		{"checker", module + "history", false},           // down
		{"history", module + "history/edn", false},       // beside
		{"checker", module + "impls/catalogue", true},    // down, and barred
		{"checker", "net/http", true},                    // out, and barred
		{"history", "net", true},                         // the same, by its whole name
		{"sim", "github.com/spf13/cobra", true},          // no flags below the top
		{"cmd", "github.com/spf13/cobra", false},         // where they belong
		{"unlisted", module + "history", true},           // a folder that has no layer
		{"checker", "network", false},                    // a name that only begins like a barred one
		{"report", module + "harness", true},             // down, and barred
		{"report", "github.com/redis/go-redis/v9", true}, // a barred one's own packages
	} {
		if why := forbidden(row.layer, row.imported); (why != "") != row.want {
			t.Errorf("%s imports %s: %q, want a refusal: %v", row.layer, row.imported, why, row.want)
		}
	}
}

// TestThePictureOfThePackages: the picture has every layer, and each package stands above those
// that it imports.
func TestThePictureOfThePackages(t *testing.T) {
	picture, _, _ := strings.Cut(readPage(t, "docs/how-it-is-built.md"), "## One run")
	lines := strings.Split(picture, "\n")
	row := map[string]int{}
	for _, layer := range layers {
		found := regexp.MustCompile(`(?:^  |   )` + layer + `[ /]`)
		if row[layer] = slices.IndexFunc(lines, found.MatchString); row[layer] < 0 {
			t.Errorf("docs/how-it-is-built.md does not have %s", layer)
		}
	}
	for path, imports := range allImports(t) {
		above := topOf(path)
		for _, imported := range imports {
			rest, ours := strings.CutPrefix(imported, module)
			if below := topOf(rest); ours && below != above && row[above] >= row[below] {
				t.Errorf("docs/how-it-is-built.md draws %s in line %d and %s in line %d, but %s imports %s", above, row[above], below, row[below], path, imported)
			}
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
