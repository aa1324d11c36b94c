package results

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Hold marks the directory as in use until the closer is closed or this process has ended, however
// it ends. Where the file system has no locks the mark is lost, and the directory is as one that
// nobody uses.
func (d *Dir) Hold() (io.Closer, error) {
	f, err := os.Open(d.path) // no child process inherits it
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	return f, err
}

// Held reports whether a process that lives holds a directory.
func Held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // ends the lock as well
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
