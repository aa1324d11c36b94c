//go:build unix

package foreign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, pipe, link := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("12345"), 0o600), syscall.Mkfifo(pipe, 0o600), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path  string
		limit int64
		want  string // the contents, or a part of the error
	}{
		{file, 5, "12345"},
		{link, 5, "12345"}, // a link is what it leads to
		{file, 4, "larger than 4 bytes"},
		{pipe, 5, "a named pipe"}, // without waiting for a writer
		{"/dev/zero", 5, "a device"},
		{dir, 5, "a directory"},
		{filepath.Join(dir, "none"), 5, "no such file"},
	} {
		data, err := Read(row.path, row.limit)
		var at *fs.PathError
		if got := string(data); err != nil {
			if !strings.Contains(err.Error(), row.want) || !errors.As(err, &at) {
				t.Errorf("%s: %v, want %q in a *fs.PathError", row.path, err, row.want)
			}
		} else if got != row.want {
			t.Errorf("%s: %q, want %q", row.path, got, row.want)
		}
	}
}
