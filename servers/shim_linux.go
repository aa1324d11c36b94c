package servers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"
)

//go:embed shim/clock.c
var clockSource []byte

const (
	clockFile   = "clock"
	clockObject = "clock.so"
	clockEnv    = "LOCKBENCH_CLOCK"
)

// clockPage is the layout of struct shift in shim/clock.c.
type clockPage struct {
	sequence uint64
	since    int64
	offset   int64
	drift    float64
}

// compiler finds a C compiler.
func compiler() (string, error) {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: clock faults need a C compiler: apt-get install gcc libc6-dev", ErrMissing)
}

// buildShim compiles the preload object into a directory.
func buildShim(ctx context.Context, dir string) (object string, err error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	object = filepath.Join(dir, clockObject)
	out, err := exec.CommandContext(ctx, cc, "-shared", "-fPIC", "-O2", "-nostdlib", "-fno-stack-protector",
		"-o", object, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: the C compiler cannot build the clock shim (%w): apt-get install gcc libc6-dev\n%s", ErrMissing, err, out)
	}
	return object, os.Chmod(object, 0o755) // a container's redis runs under another user id
}

// tryShim builds the shim and throws it away.
func tryShim(ctx context.Context) error {
	dir, err := os.MkdirTemp("", estatePrefix+"shim-")
	if err != nil {
		return err
	}
	_, err = buildShim(ctx, dir)
	return errors.Join(err, os.RemoveAll(dir))
}

// newClockFile makes the file of a clock that is true until told otherwise.
func newClockFile(dir string) (string, error) {
	path := filepath.Join(dir, clockFile)
	err := os.WriteFile(path, make([]byte, unsafe.Sizeof(clockPage{})), 0o644)
	return path, errors.Join(err, os.Chmod(path, 0o644)) // whatever the umask says
}

// writeShift changes the clock under a sequence count, so that no reader ever sees half of a change.
func writeShift(path string, s shift) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // the mapping outlives it
	bytes, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(clockPage{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", path, err)
	}
	page := (*clockPage)(unsafe.Pointer(&bytes[0]))
	atomic.AddUint64(&page.sequence, 1)
	page.since, page.offset, page.drift = s.since.UnixNano(), int64(s.offset), s.drift
	atomic.AddUint64(&page.sequence, 1)
	return syscall.Munmap(bytes)
}

// preload builds the shim and gives each process a clock of its own.
func preload(ctx context.Context, estate *estate, machines []*processMachine) error {
	object, err := buildShim(ctx, estate.dir)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if m.clock, err = newClockFile(m.dir); err != nil {
			return err
		}
		m.env = []string{"LD_PRELOAD=" + object, clockEnv + "=" + m.clock}
	}
	return nil
}

// preloadContainers builds the shim and mounts it with a clock into each container.
func preloadContainers(ctx context.Context, estate *estate, machines []*dockerMachine) error {
	object, err := buildShim(ctx, estate.dir)
	if err != nil {
		return err
	}
	const inside = "/lockbench-"
	for i, m := range machines {
		dir, err := estate.room(fmt.Sprintf("node-%d", i))
		if err != nil {
			return err
		}
		if m.clock, err = newClockFile(dir); err != nil {
			return err
		}
		m.binds = []string{object + ":" + inside + clockObject + ":ro", m.clock + ":" + inside + clockFile + ":ro"}
		m.env = map[string]string{"LD_PRELOAD": inside + clockObject, clockEnv: inside + clockFile}
	}
	return nil
}
