package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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

// sources are the files of the module, without tests, with their imports and comments.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	all := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		all[filepath.ToSlash(rel)] = file
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files read: %v", len(all), err)
	}
	return all
}

// allImports returns what each file of the module imports, without tests.
func allImports(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for path, file := range sources(t) {
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all[path] = append(all[path], imported)
		}
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
	about := map[string]bool{} // by folder
	for path, file := range sources(t) {
		about[filepath.Dir(path)] = about[filepath.Dir(path)] || file.Doc != nil
	}
	if len(about) < 40 {
		t.Fatalf("%d packages read", len(about))
	}
	for dir, said := range about {
		if !said {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// oneWay are the packages whose files depend one way only.
var oneWay = []string{"history", "workloads", "checker", "effects", "explain", "story", "sim", "sim/search"}

// TestFilesPointDown: no file of these packages uses, by any way round, what a file that uses it
// declares.
func TestFilesPointDown(t *testing.T) {
	for _, name := range oneWay {
		uses := filesUsed(t, name)
		for left := 0; left != len(uses); { // what uses nothing and what nothing uses is in no circle
			left = len(uses)
			used := map[string]bool{}
			for file, of := range uses {
				maps.DeleteFunc(of, func(other string, _ bool) bool { return uses[other] == nil })
				maps.Copy(used, of)
				if len(of) == 0 {
					delete(uses, file)
				}
			}
			maps.DeleteFunc(uses, func(file string, _ map[string]bool) bool { return !used[file] })
		}
		for file, of := range uses {
			t.Errorf("%s/%s uses what uses it: %v", name, file, slices.Sorted(maps.Keys(of)))
		}
	}
}

// filesUsed returns of which files each file of a package uses declarations, methods and fields.
func filesUsed(t *testing.T, name string) map[string]map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join("..", "..", name, "*.go"))
	must(t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		must(t, err)
		files = append(files, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(fset, "gc", compiled(t, module+name))}).Check(module+name, fset, files, &info)
	must(t, err)
	in := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	uses := map[string]map[string]bool{}
	for _, f := range files {
		uses[in(f.Pos())] = map[string]bool{}
	}
	for id, used := range info.Uses {
		if f, generic := used.(*types.Func); generic {
			used = f.Origin()
		}
		local := used.Parent() != nil && used.Parent() != pkg.Scope()
		if from, to := in(id.Pos()), in(used.Pos()); used.Pkg() == pkg && !local && from != to {
			uses[from][to] = true
		}
	}
	return uses
}

// compiled returns what opens the export data of the packages that a package imports.
func compiled(t *testing.T, name string) func(path string) (io.ReadCloser, error) {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", name)
	out, err := list.Output()
	must(t, err)
	exports := map[string]string{}
	for line := range bytes.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		exports[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s was not compiled", path)
		}
		return os.Open(exports[path])
	}
}
