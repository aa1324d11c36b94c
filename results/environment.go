package results

import (
	"context"
	"io/fs"
	"os/exec"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Environment describes the machine and the build of a run. Unknown fields are empty. The run's
// nodes have Redis' version and settings.
type Environment struct {
	Lockbench   string            `json:"lockbench"`              // version of the main module, or "(devel)"
	Go          string            `json:"go"`                     // go1.26.8
	Platform    string            `json:"platform"`               // linux/amd64
	Modules     map[string]string `json:"modules,omitempty"`      // versions of lock and measurement libraries, by path
	GOMAXPROCS  int               `json:"gomaxprocs"`             //
	CPU         string            `json:"cpu,omitempty"`          // model name
	CPUs        int               `json:"cpus"`                   // usable by this process
	CPUQuota    float64           `json:"cpu_quota,omitempty"`    // cores, from the control group; 0 = no limit
	MemoryLimit int64             `json:"memory_limit,omitempty"` // bytes, from the control group; 0 = no limit
	Kernel      string            `json:"kernel,omitempty"`       // release
	ClockSource string            `json:"clock_source,omitempty"` // tsc, kvm-clock, …
	Git         string            `json:"git,omitempty"`          // commit of the working directory's checkout
	Dirty       bool              `json:"dirty,omitempty"`        // the checkout had uncommitted changes
}

// Machine is the input of CaptureEnvironment.
type Machine struct {
	Root  fs.FS            // file system with /proc and /sys; nil: skip
	Build *debug.BuildInfo // of this binary; nil: skip
	Dir   string           // working directory, for git; "": skip
}

// CaptureEnvironment describes the machine; what it cannot find out stays empty.
func CaptureEnvironment(ctx context.Context, m Machine) Environment {
	e := Environment{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		GOMAXPROCS: runtime.GOMAXPROCS(0), CPUs: runtime.NumCPU()}
	if m.Build != nil {
		e.Lockbench, e.Modules = m.Build.Main.Version, map[string]string{}
		for _, dep := range m.Build.Deps {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			for _, part := range []string{"redis", "redsync", "redislock", "rueidis", "porcupine", "hdrhistogram", "testcontainers"} {
				if strings.Contains(strings.ToLower(dep.Path), part) {
					e.Modules[dep.Path] = dep.Version
				}
			}
		}
		for _, s := range m.Build.Settings {
			switch s.Key {
			case "vcs.revision":
				e.Git = s.Value
			case "vcs.modified":
				e.Dirty = s.Value == "true"
			}
		}
	}
	if m.Root != nil {
		for line := range strings.SplitSeq(read(m.Root, "proc/cpuinfo"), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				e.CPU = strings.TrimSpace(value)
				break
			}
		}
		e.Kernel = firstLine(m.Root, "proc/sys/kernel/osrelease")
		e.ClockSource = firstLine(m.Root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
		e.CPUQuota, e.MemoryLimit = controlGroup(m.Root)
	}
	if m.Dir != "" { // "go run" puts no revision into the binary
		if head, err := git(ctx, m.Dir, "rev-parse", "HEAD"); err == nil {
			status, err := git(ctx, m.Dir, "status", "--porcelain", "--untracked-files=no")
			e.Git, e.Dirty = head, err != nil || status != ""
		}
	}
	return e
}

// controlGroup reads the limits of the process's cgroup (v2) or of the root cgroup (v1).
func controlGroup(root fs.FS) (cores float64, bytes int64) {
	group := ""
	for line := range strings.SplitSeq(read(root, "proc/self/cgroup"), "\n") {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			group = p
		}
	}
	base := path.Join("sys/fs/cgroup", group)
	quota, period, _ := strings.Cut(firstLine(root, path.Join(base, "cpu.max")), " ")
	if quota == "" {
		quota = firstLine(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us")
		period = firstLine(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	limit := firstLine(root, path.Join(base, "memory.max"))
	if limit == "" {
		limit = firstLine(root, "sys/fs/cgroup/memory/memory.limit_in_bytes")
	}
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 == nil && err2 == nil && q > 0 && p > 0 { // else it is "max" or -1: no limit
		cores = q / p
	}
	n, err := strconv.ParseInt(limit, 10, 64)
	if err == nil && n < 1<<60 { // else it is "max", or the huge number that cgroup v1 uses instead
		bytes = n
	}
	return cores, bytes
}

func read(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	return string(data)
}

func firstLine(root fs.FS, name string) string {
	line, _, _ := strings.Cut(read(root, name), "\n")
	return strings.TrimSpace(line)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}
