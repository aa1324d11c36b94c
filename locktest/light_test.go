package locktest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needed are the modules that a library's go.mod gains with the kit, and no others.
var needed = []string{
	"github.com/alicebob/miniredis/v2",
	"github.com/anishathalye/porcupine",
	"github.com/cespare/xxhash/v2", // of go-redis
	"github.com/klauspost/compress",
	"github.com/lockbench/lockbench",
	"github.com/redis/go-redis/v9",
	"github.com/yuin/gopher-lua", // of miniredis
	"go.uber.org/atomic",         // of go-redis
	"golang.org/x/sys",           // of go-redis
}

// mostPackages bounds how many packages a library's test compiles because of the kit, besides the
// standard library's.
const mostPackages = 67

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAFreshModuleGainsLittle makes a library with one test that uses the kit, and checks its
// go.mod and the packages that its test compiles.
func TestAFreshModuleGainsLittle(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": fmt.Sprintf("module example.com/mylock\n\ngo 1.26.0\n\nrequire github.com/lockbench/lockbench v0.0.0\n\nreplace github.com/lockbench/lockbench => %s\n", root),
		"mylock_test.go": "package mylock\n\nimport (\n\t\"testing\"\n\n\t\"github.com/lockbench/lockbench/locktest\"\n)\n\n" +
			"func TestMyLock(t *testing.T) { locktest.Run(t, nil) }\n",
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files["go.sum"] = string(sums)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages := slices.DeleteFunc(strings.Fields(run(t, dir, "list", "-deps", "-test", "-f", "{{if .Module}}{{.ImportPath}}{{end}}", ".")),
		// with and without [example.com/mylock.test]
		func(p string) bool { return strings.Contains(p, "example.com/") })
	if len(packages) > mostPackages {
		t.Errorf("%d packages, want %d at the most: %q", len(packages), mostPackages, packages)
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		if path, version, ok := strings.Cut(line, " "); ok && strings.HasPrefix(version, "v") {
			got = append(got, path)
		}
	}
	if slices.Sort(got); !slices.Equal(got, needed) {
		t.Errorf("go.mod needs\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(needed, "\n\t"))
	}
}
