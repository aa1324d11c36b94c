package results_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/results"
)

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
