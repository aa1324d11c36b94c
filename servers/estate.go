//go:build unix

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
	estatePrefix = "lockbench-servers-"
	lockFile     = "owner.lock"
	// estateGrace is the age below which a directory is never taken for a leftover: between its making and its locking it
	// looks like one.
	estateGrace = time.Minute
)

//go:embed undertaker.sh
var undertakerScript string

// estate is what a deployment leaves in the world besides its servers: a temp directory. It sees to it that nothing outlives
// us, however we end.
//
//   - Close removes the directory when all goes well.
//   - The undertaker, a shell that waits for the end of its standard input, notices our death at once and removes
//     processes, containers and the directory.
//   - Should it be killed as well, the next start sweeps: a directory whose lock nobody holds has no owner. A lock, not a
//     process id in the name, because ids are used again and mean nothing in another container that shares the
//     directory.
type estate struct {
	dir        string
	lock       *os.File // held, with flock, for as long as we live
	undertaker *exec.Cmd
	orders     io.WriteCloser // the undertaker's standard input
}

// newEstate sweeps what dead runs left in base ("" means the system's temp directory) and makes a directory. The undertaker gets
// env besides our own environment.
func newEstate(base string, env ...string) (*estate, error) {
	if base == "" {
		base = os.TempDir()
	}
	sweep(base, time.Now().Add(-estateGrace))
	dir, err := os.MkdirTemp(base, estatePrefix)
	if err != nil {
		return nil, fmt.Errorf("temp directory: %w", err)
	}
	e := &estate{dir: dir}
	if e.lock, err = holdLock(filepath.Join(dir, lockFile)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err := e.hire(env); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// hire starts the undertaker, in a session of its own so that what kills us by terminal or group does not reach it.
func (e *estate) hire(env []string) error {
	cmd := exec.Command("/bin/sh", "-c", undertakerScript, "lockbench-undertaker", e.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), env...)
	orders, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("undertaker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("undertaker: %w", errors.Join(err, orders.Close()))
	}
	e.undertaker, e.orders = cmd, orders
	return nil
}

// room makes a directory inside.
func (e *estate) room(name string) (string, error) {
	dir := filepath.Join(e.dir, name)
	// A container's redis runs under another user id and must get in.
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777)
}

// Close dismisses the undertaker and removes the directory. The servers must be gone before.
func (e *estate) Close() error {
	err := os.RemoveAll(e.dir)
	if e.undertaker != nil {
		_, werr := io.WriteString(e.orders, "dismissed\n")
		if uerr := errors.Join(werr, e.orders.Close(), e.undertaker.Wait()); uerr != nil {
			err = errors.Join(err, fmt.Errorf("dismiss the undertaker: %w", uerr))
		}
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
	}
	return err
}

// holdLock opens and locks a file, or says that somebody else holds it. Children do not inherit it (O_CLOEXEC).
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

// sweep removes the directories of dead owners that were made before the given time. What it cannot remove, it leaves to the
// next run: a leftover must not keep anybody from working.
func sweep(base string, before time.Time) (removed []string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), estatePrefix) || info.ModTime().After(before) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		if orphaned(dir) && os.RemoveAll(dir) == nil {
			removed = append(removed, dir)
		}
	}
	return removed
}

// orphaned says whether nobody holds the lock of a directory. A directory that is gone has no owner either.
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
