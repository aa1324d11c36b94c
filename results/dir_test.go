package results_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

var noon = time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("one hour east", 3600))

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, base, id string) *results.Dir {
	t.Helper()
	d, err := results.Create(base, results.Name(noon, id, "pause-holder", "set-nx-ex"), false)
	must(t, err)
	return d
}

func load(path string) (results.Run, *results.Result, error) {
	d, err := results.Open(path)
	if err != nil {
		return results.Run{}, nil, err
	}
	return d.Load()
}

func TestSaveAndLoadInEachPhase(t *testing.T) {
	base := filepath.Join(t.TempDir(), "results", "runs")
	d := create(t, base, "0a1b2c")
	if got := filepath.Base(d.Path()); got != "pause-holder-set-nx-ex-20260301T120000Z-0a1b2c" {
		t.Errorf("directory is %s", got)
	}
	run := aRun()
	run.Nodes = []history.Server{{Name: "n1", Version: "7.0.15", Config: map[string]string{"appendonly": "no"}}}
	for _, phase := range []results.Phase{results.Started, results.Driven, results.Checked} {
		run.Phase = phase
		must(t, d.SaveRun(run))
		want := results.NewResult(run, aVerdict())
		if phase == results.Checked {
			must(t, d.SaveResult(want))
		}
		got, result, err := load(base) // by way of latest
		must(t, err)
		run.Schema = results.RunSchema
		if diff := cmp.Diff(run, got); diff != "" {
			t.Errorf("%s: run (-want +got)\n%s", phase, diff)
		}
		if (result != nil) != (phase == results.Checked) {
			t.Errorf("%s: result %v", phase, result)
		}
		if result != nil {
			if diff := cmp.Diff(want, *result, cmpopts.IgnoreUnexported(checker.Violation{})); diff != "" {
				t.Errorf("result (-want +got)\n%s", diff)
			}
		}
	}
}

func TestLatestFollowsTheNewestRun(t *testing.T) {
	base := t.TempDir()
	for _, id := range []string{"aaa", "bbb"} {
		create(t, base, id)
		target, err := os.Readlink(filepath.Join(base, "latest"))
		if err != nil || !strings.HasSuffix(target, "-"+id) || filepath.IsAbs(target) {
			t.Errorf("latest links to %q (%v), want the run %s, relative", target, err, id)
		}
	}
	if _, err := results.Create(base, results.Name(noon, "bbb", "pause-holder", "set-nx-ex"), false); !errors.Is(err, os.ErrExist) {
		t.Errorf("same directory again: %v, want ErrExist", err)
	}
	left, err := filepath.Glob(filepath.Join(base, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLatestDoesNotReplaceAFile(t *testing.T) {
	base := t.TempDir()
	must(t, os.WriteFile(filepath.Join(base, "latest"), []byte("mine"), 0o600))
	if _, err := results.Create(base, results.Name(noon, "x", "s", "l"), false); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if data, _ := os.ReadFile(filepath.Join(base, "latest")); string(data) != "mine" {
		t.Errorf("the file now has %q", data)
	}
}

func TestNamesCannotLeaveTheBase(t *testing.T) {
	base := t.TempDir()
	d, err := results.Create(base, results.Name(noon, "x", "../../etc/passwd", "a/b c"), false)
	must(t, err)
	if filepath.Dir(d.Path()) != base {
		t.Errorf("made %s outside %s", d.Path(), base)
	}
}

// TestSaveIsAllOrNothing: a writer that fails half-way leaves the old file whole and nothing else.
func TestSaveIsAllOrNothing(t *testing.T) {
	d := create(t, t.TempDir(), "x")
	must(t, d.Save("latency/acquire.hgrm", []byte("old")))
	broken := errors.New("disk full")
	err := d.SaveFunc("latency/acquire.hgrm", func(w io.Writer) error {
		fmt.Fprint(w, "half of the n")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want the writer's", err)
	}
	data, err := os.ReadFile(d.File("latency", "acquire.hgrm"))
	if err != nil || !bytes.Equal(data, []byte("old")) {
		t.Errorf("the file holds %q, %v", data, err)
	}
	entries, err := os.ReadDir(d.File("latency"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSaveRunRefusesInvalidRecords(t *testing.T) {
	d := create(t, t.TempDir(), "x")
	for name, change := range map[string]func(*results.Run){
		"an unknown phase": func(r *results.Run) { r.Phase = "done" },
		"no lock":          func(r *results.Run) { r.Lock = "" },
	} {
		run := aRun()
		change(&run)
		if err := d.SaveRun(run); err == nil {
			t.Errorf("%s was saved", name)
		}
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{"a directory without a run", "other", "", "no run here"},
		{"broken JSON", results.RunFile, "{\n \"schema\": ,\n}", "line 2, column"},
		{"another schema", results.RunFile, `{"schema":"lockbench/run/v9"}`, `want "lockbench/run/v1"`},
		{"wrong type", results.RunFile, "{\n\"seed\": \"x\"}", "line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			must(t, os.WriteFile(filepath.Join(base, tt.file), []byte(tt.text), 0o600))
			if _, _, err := load(base); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestSecretsAreNotSaved(t *testing.T) {
	d := create(t, t.TempDir(), "x")
	run := aRun()
	run.Argv = append(run.Argv, "--server", "redis://:hunter2@10.0.0.1:6379")
	must(t, d.SaveRun(run))
	if data, err := os.ReadFile(d.File(results.RunFile)); err != nil || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("saved %s, %v", data, err)
	}
}

// TestSaveWritesWhereAPathLeads: a link and a pipe are still there afterwards.
func TestSaveWritesWhereAPathLeads(t *testing.T) {
	save := func(path string) {
		t.Helper()
		if err := results.SaveFile(path, func(w io.Writer) error { _, err := io.WriteString(w, "saved"); return err }); err != nil {
			t.Error(err)
		}
	}
	for _, row := range []struct {
		name, old string // what was in the file; "-": there was none
	}{
		{"a link to a file", "old"},
		{"a link to a file that is not there yet", "-"},
	} {
		dir := t.TempDir()
		link, file := filepath.Join(dir, "link"), filepath.Join(dir, "other", "file")
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		if row.old != "-" {
			must(t, os.WriteFile(file, []byte(row.old), 0o600))
		}
		must(t, os.Symlink("other/file", link))
		save(link)
		if text, err := os.ReadFile(file); string(text) != "saved" {
			t.Errorf("%s: the file has %q, %v", row.name, text, err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link is gone: %v, %v", row.name, info, err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{pipe, pipe + ".link"} {
		read := make(chan string)
		go func() {
			text, _ := os.ReadFile(pipe)
			read <- string(text)
		}()
		if path != pipe {
			must(t, os.Symlink(pipe, path))
		}
		save(path)
		if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Fatalf("the pipe is gone: %v, %v", info, err) // its reader waits for ever
		}
		if text := <-read; text != "saved" {
			t.Errorf("the reader of the pipe got %q", text)
		}
	}
}

// TestHeldWhileInUse: a directory is held until its user is done.
func TestHeldWhileInUse(t *testing.T) {
	d := create(t, t.TempDir(), "x")
	use, err := d.Hold()
	must(t, err)
	if !results.Held(d.Path()) {
		t.Error("it is not held while in use")
	}
	if err := use.Close(); err != nil || results.Held(d.Path()) {
		t.Errorf("it is held for ever (%v)", err)
	}
	if results.Held(filepath.Join(d.Path(), "nothing")) {
		t.Error("what is not there is held")
	}
}
