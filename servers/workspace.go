package servers

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	workspacePrefix = "lockbench-servers-"
	lockFile        = "owner.lock"
	// workspaceGrace is the least age of a leftover directory: a new one is not locked yet.
	workspaceGrace = time.Minute
)

//go:embed reaper.sh
var reaperScript string

// workspace is the temp directory of a deployment. Nothing outlives lockbench, however it ends:
//
//   - Close removes the directory.
//   - The reaper, a shell that waits for the end of its standard input, removes processes,
//     containers and the directory when lockbench dies.
//   - If the reaper is killed too, the next start removes directories whose lock is free. Process
//     ids would not do: the system reuses them, and another container that shares the directory has
//     others.
type workspace struct {
	dir    string
	lock   *os.File // held with flock until the process ends
	reaper *exec.Cmd
	orders io.WriteCloser // the reaper's standard input
}

// newWorkspace removes leftovers in base ("": the system's temp directory) and makes a directory.
// env is added to the reaper's environment.
func newWorkspace(base string, env ...string) (*workspace, error) {
	if base == "" {
		base = os.TempDir()
	}
	sweep(base, time.Now().Add(-workspaceGrace))
	dir, err := os.MkdirTemp(base, workspacePrefix)
	if err != nil {
		return nil, fmt.Errorf("temp directory: %w", err)
	}
	e := &workspace{dir: dir}
	if e.lock, err = holdLock(filepath.Join(dir, lockFile)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	cmd := exec.Command("/bin/sh", "-c", reaperScript, "lockbench-reaper", dir)
	// a session of its own: signals to the terminal or process group do not reach it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), env...)
	if e.orders, err = cmd.StdinPipe(); err == nil {
		if err = cmd.Start(); err != nil {
			err = errors.Join(err, e.orders.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reaper: %w", err), e.Close())
	}
	e.reaper = cmd
	return e, nil
}

func (e *workspace) subdir(name string) (string, error) {
	dir := filepath.Join(e.dir, name)
	// A container's redis has another user id.
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777)
}

// Close stops the reaper and removes the directory. The servers must have ended.
func (e *workspace) Close() error {
	err := os.RemoveAll(e.dir)
	if e.reaper != nil {
		_, werr := io.WriteString(e.orders, "done\n")
		if uerr := errors.Join(werr, e.orders.Close(), e.reaper.Wait()); uerr != nil {
			err = errors.Join(err, fmt.Errorf("stop the reaper: %w", uerr))
		}
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
	}
	return err
}

// holdLock opens and locks a file; an error if another process holds it. Children do not inherit it
// (O_CLOEXEC).
func holdLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// sweep removes directories without an owner that were made before a time. It ignores errors: the
// next run tries again.
func sweep(base string, before time.Time) (removed []string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), workspacePrefix) || info.ModTime().After(before) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		if orphaned(dir) && os.RemoveAll(dir) == nil {
			removed = append(removed, dir)
		}
	}
	return removed
}

// orphaned reports whether a directory has no owner. A missing directory has none.
func orphaned(dir string) bool {
	if _, err := os.Stat(dir); err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	lock, err := holdLock(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	lock.Close()
	return true
}
