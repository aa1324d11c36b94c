package servers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

func compiler() (string, error) {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: clock faults need a C compiler: apt-get install gcc libc6-dev", ErrMissing)
}

// shim is the preload object, compiled once for all deployments of a provider. The zero value is
// ready for use.
type shim struct {
	mu     sync.Mutex
	object []byte // nil until compiled
}

// write writes the object into a directory and returns its path.
func (s *shim) write(ctx context.Context, dir string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.object == nil {
		object, err := compileShim(ctx, dir)
		if err != nil {
			return "", err
		}
		s.object = object
	}
	path := filepath.Join(dir, clockObject)
	// A container's redis has another user id: it needs these rights, whatever the umask.
	return path, errors.Join(os.WriteFile(path, s.object, 0o755), os.Chmod(path, 0o755))
}

func compileShim(ctx context.Context, dir string) ([]byte, error) {
	cc, err := compiler()
	if err != nil {
		return nil, err
	}
	source, object := filepath.Join(dir, "clock.c"), filepath.Join(dir, clockObject)
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, cc, "-shared", "-fPIC", "-O2", "-nostdlib", "-fno-stack-protector",
		"-o", object, source).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: the C compiler cannot build the clock shim (%w): apt-get install gcc libc6-dev\n%s", ErrMissing, err, out)
	}
	return os.ReadFile(object)
}

func (s *shim) try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", workspacePrefix+"shim-")
	if err != nil {
		return err
	}
	_, err = s.write(ctx, dir)
	return errors.Join(err, os.RemoveAll(dir))
}

// newClockFile makes the file of a true clock.
func newClockFile(dir string) (string, error) {
	path := filepath.Join(dir, clockFile)
	err := os.WriteFile(path, make([]byte, unsafe.Sizeof(clockPage{})), 0o644)
	return path, errors.Join(err, os.Chmod(path, 0o644)) // whatever the umask
}

// writeShift changes the clock under a sequence count, so that readers see whole changes.
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

// preload gives each process its own clock.
func (s *shim) preload(ctx context.Context, workspace *workspace, machines []*processMachine) error {
	object, err := s.write(ctx, workspace.dir)
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

// preloadContainers mounts the object and a clock into each container.
func (s *shim) preloadContainers(ctx context.Context, workspace *workspace, machines []*dockerMachine) error {
	object, err := s.write(ctx, workspace.dir)
	if err != nil {
		return err
	}
	const inside = "/lockbench-"
	for i, m := range machines {
		dir, err := workspace.subdir(fmt.Sprintf("node-%d", i))
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
