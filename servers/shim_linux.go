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

// clockPage is the layout of struct shift in shim/clock.c.
type clockPage struct {
	sequence uint64
	since    int64
	offset   int64
	drift    float64
}

// shim is the preload object, compiled once for all deployments of a provider. The zero value is
// ready for use.
type shim struct {
	mu     sync.Mutex
	object []byte // nil until compiled
}

// install compiles the object if it is not yet, writes it and the file of a true clock into a
// directory, and returns their paths.
func (s *shim) install(ctx context.Context, dir string) (object, clock string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, clock = filepath.Join(dir, clockObject), filepath.Join(dir, clockFile)
	if s.object == nil {
		var cc string
		for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
			if path, err := exec.LookPath(name); cc == "" && name != "" && err == nil {
				cc = path
			}
		}
		if cc == "" {
			return "", "", fmt.Errorf("%w: clock faults need a C compiler: apt-get install gcc libc6-dev", ErrMissing)
		}
		source := filepath.Join(dir, "clock.c")
		if err := os.WriteFile(source, clockSource, 0o600); err != nil {
			return "", "", err
		}
		out, err := exec.CommandContext(ctx, cc, "-shared", "-fPIC", "-O2", "-nostdlib", "-fno-stack-protector",
			"-o", object, source).CombinedOutput()
		if err != nil {
			return "", "", fmt.Errorf("%w: the C compiler cannot build the clock shim (%w): apt-get install gcc libc6-dev\n%s", ErrMissing, err, out)
		}
		if s.object, err = os.ReadFile(object); err != nil {
			return "", "", err
		}
	}
	// A container's redis has another user id: it needs these rights, whatever the umask.
	return object, clock, errors.Join(os.WriteFile(object, s.object, 0o755), os.Chmod(object, 0o755),
		os.WriteFile(clock, make([]byte, unsafe.Sizeof(clockPage{})), 0o644), os.Chmod(clock, 0o644))
}

func (s *shim) try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", workspacePrefix+"shim-")
	if err != nil {
		return err
	}
	_, _, err = s.install(ctx, dir)
	return errors.Join(err, os.RemoveAll(dir))
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
